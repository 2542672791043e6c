CREATE TABLE bursar.paper(
    kind text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, body bytea NOT NULL,
    PRIMARY KEY (kind, id));
