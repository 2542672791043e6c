CREATE SCHEMA IF NOT EXISTS bursar;
CREATE TABLE bursar.meta(
    one boolean PRIMARY KEY DEFAULT true CHECK (one), schema_version integer NOT NULL,
    instance text NOT NULL, epoch integer NOT NULL, created bigint NOT NULL);
CREATE TABLE bursar.step(
    number integer PRIMARY KEY, checksum text NOT NULL, ts bigint NOT NULL);
CREATE TABLE bursar.campaign(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE, state text NOT NULL, budget bigint NOT NULL,
    spent bigint NOT NULL CHECK (spent >= 0), held bigint NOT NULL CHECK (held >= 0),
    seq bigint NOT NULL CHECK (seq >= 1), ts bigint NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 16)
) WITH (fillfactor = 10);
CREATE TABLE bursar.event(
    campaign bigint NOT NULL, seq bigint NOT NULL CHECK (seq >= 1), ts bigint NOT NULL,
    kind text NOT NULL, decision text COLLATE "C" NOT NULL, body text NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 16), PRIMARY KEY (campaign, seq));
CREATE INDEX event_of_decision ON bursar.event(campaign, decision) WHERE decision <> '';
CREATE TABLE bursar.snapshot(
    campaign bigint NOT NULL, seq bigint NOT NULL, body bytea NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 16), PRIMARY KEY (campaign, seq));
