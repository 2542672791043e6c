ALTER TABLE snapshot RENAME TO newest_snapshot;
CREATE TABLE snapshot(
    campaign INTEGER NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL, hash BLOB NOT NULL,
    PRIMARY KEY(campaign, seq)) STRICT;
INSERT INTO snapshot SELECT campaign, seq, body, hash FROM newest_snapshot;
DROP TABLE newest_snapshot;
