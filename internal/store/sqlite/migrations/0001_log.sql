-- +goose Up

-- Appended to and never changed; it has no index on purpose, an index costs
-- more than half of the throughput. The units of a run are found through prev,
-- from the run's newest unit on back.
CREATE TABLE units (
    id    INTEGER PRIMARY KEY,
    run   INTEGER NOT NULL, -- the run's number in this file
    seq   INTEGER NOT NULL, -- the number of its first event
    count INTEGER NOT NULL, -- how many events it has
    prev  INTEGER NOT NULL, -- the id of the run's previous unit; 0 = none
    sum   INTEGER NOT NULL, -- CRC-32C over everything but id and blobs
    name  TEXT,             -- the run's id, in its first unit only
    info  TEXT,             -- the run's line in lists as JSON, when it changed
    refs  BLOB,             -- hash, form and length of each blob that is new here
    data  BLOB NOT NULL,    -- the events, each a length and its stored form
    blobs BLOB              -- the new blobs, end to end; each is checked by its hash
);

-- Where each run ends and what its line is: a projection of units that makes
-- opening fast. It is written behind and rebuilt from units when it is missing.
CREATE TABLE heads (
    run        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL,
    head       INTEGER NOT NULL, -- the id of the run's newest unit
    seq        INTEGER NOT NULL, -- the number of its newest event
    info       TEXT,
    quarantine TEXT              -- why the run is quarantined; NULL = it is not
);

-- How far heads has come.
CREATE TABLE progress (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    unit INTEGER NOT NULL, -- the newest unit that heads knows
    runs INTEGER NOT NULL  -- how many rows heads has
);

PRAGMA user_version = 1;
