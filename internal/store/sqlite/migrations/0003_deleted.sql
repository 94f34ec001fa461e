-- +goose Up

-- The runs that were deleted, for good: their names are never given again. This is no
-- projection of units, since the units of an erased run are gone.
CREATE TABLE deleted (
    run    INTEGER PRIMARY KEY, -- the run's number in this file, which is not given again either
    id     TEXT NOT NULL,
    stone  TEXT NOT NULL,       -- its tombstone as JSON
    erased INTEGER NOT NULL     -- 1 = it has no units any more
);

PRAGMA user_version = 3;
