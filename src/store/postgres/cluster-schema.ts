/** The tables with which several processes (nodes) share the tasks in PostgreSQL, as migration steps. */
import type { PostgresSchema } from '../../base/postgres/index.ts';

const STEPS: readonly string[] = [
  `
  -- The nodes. A node is alive while its row has a lease that has not expired by the clock of the database. If locked
  -- is true, the node also holds an advisory lock. The database releases this lock as soon as the node's connection
  -- ends.
  CREATE TABLE parley.nodes (
    id text COLLATE "C" PRIMARY KEY,
    number integer GENERATED ALWAYS AS IDENTITY,
    lease_until timestamptz NOT NULL,
    locked boolean NOT NULL DEFAULT false
  ) WITH (fillfactor = 50);

  -- Requests from one node (sender) to the node that executes a task.
  CREATE TABLE parley.requests (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node text COLLATE "C" NOT NULL,
    sender text COLLATE "C" NOT NULL,
    body text NOT NULL,
    taken boolean NOT NULL DEFAULT false,
    answer text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
  CREATE INDEX requests_to ON parley.requests (node) WHERE NOT taken;
  CREATE INDEX requests_from ON parley.requests (sender) WHERE answer IS NOT NULL;

  -- The node that delivers the events of a webhook.
  ALTER TABLE parley.push ADD COLUMN node text COLLATE "C";
  `,

  `
  -- Whether the node handles expired tasks (1), and also removes old ones (2). Among the nodes with the highest value,
  -- the oldest one does the work. Nodes of earlier versions have 0.
  ALTER TABLE parley.nodes ADD COLUMN sweeps smallint NOT NULL DEFAULT 0;
  `,
];

/** The tables of a cluster. They need the tables of the task store. */
export const CLUSTER: PostgresSchema = { name: 'cluster', steps: STEPS };
