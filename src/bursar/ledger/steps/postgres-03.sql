ALTER TABLE bursar.campaign ADD COLUMN written bigint;
