/** The statements of a cluster in PostgreSQL. */
import { statements } from '../../base/postgres/index.ts';
import { SCOPED_HEAD, TASK, IS_UNFINISHED } from './statements.ts';

/** The first key of the advisory locks of nodes. The second key is the number of the node. */
const LOCKS = 1_885_433_458;

/** Returns a condition that is true if the node with this id is alive. `id` is an SQL expression. */
export const isAlive = (id: string) =>
  `EXISTS (SELECT FROM parley.nodes n WHERE n.id = ${id} AND n.lease_until > clock_timestamp())`;

const LEASE = (ms: string) => `clock_timestamp() + ${ms} * interval '1 millisecond'`;
/**
 * Whether the node `n` has lost its advisory lock. This is the case if this statement can take the lock. PostgreSQL
 * releases the taken lock at the end of the statement.
 */
const HAS_LOST_LOCK = `CASE WHEN n.locked THEN pg_try_advisory_xact_lock_shared(${LOCKS}, n.number) ELSE false END`;

/** The statements for the session (`PostgresSession`) of this node. The first one takes the advisory lock. */
export const TRY_LOCK = `SELECT pg_try_advisory_lock(${LOCKS}, $1) AS locked`;
export const SESSION_ID = 'SELECT pg_backend_pid() AS pid';

export const CLUSTER_SQL = statements('cluster_', {
  join: `INSERT INTO parley.nodes (id, lease_until) VALUES ($1, ${LEASE('$2')}) RETURNING number`,
  // Working tasks without a node were stored by a program that has not joined the cluster. They get the empty id, which
  // no node has, so the nodes take them over.
  adopt: `UPDATE parley.tasks t SET node = '' WHERE ${IS_UNFINISHED} AND t.node IS NULL AND t.state = 'working'`,
  renew: `UPDATE parley.nodes SET lease_until = ${LEASE('$2')}
     WHERE id = $1 AND lease_until > clock_timestamp() RETURNING number`,
  leave: 'DELETE FROM parley.nodes WHERE id = $1',
  // Returns the node that handles expired tasks. $2 is the new value of `sweeps` for this node. The SELECT uses $2 for
  // this node, because it does not see the UPDATE.
  sweeper: `WITH own AS (UPDATE parley.nodes SET sweeps = $2 WHERE id = $1 AND sweeps <> $2)
     SELECT n.id FROM parley.nodes n WHERE n.lease_until > clock_timestamp()
     ORDER BY CASE WHEN n.id = $1 THEN $2 ELSE n.sweeps END DESC, n.number LIMIT 1`,
  setLocked: 'UPDATE parley.nodes SET locked = $2 WHERE id = $1',
  nodes: `SELECT n.id, n.lease_until > clock_timestamp(), n.id <> $1 AND ${HAS_LOST_LOCK}
     FROM parley.nodes n ORDER BY n.number`,
  remove: `DELETE FROM parley.nodes n
     WHERE n.id = ANY ($1) AND (n.lease_until <= clock_timestamp() OR ${HAS_LOST_LOCK}) RETURNING n.id`,

  claim: `UPDATE parley.tasks t SET node = $2, epoch = t.epoch + 1
     WHERE t.task_id = $1 AND (NOT (${IS_UNFINISHED}) OR t.node IS NULL) RETURNING ${SCOPED_HEAD}`,
  claimInterrupted: `UPDATE parley.tasks t SET node = $2, epoch = t.epoch + 1
     WHERE t.task_id = $1 AND ${IS_UNFINISHED} AND t.node IS NOT NULL AND NOT ${isAlive('t.node')}
     RETURNING ${SCOPED_HEAD}`,
  // The owners are found with one index lookup for each node, no matter how many tasks a node has.
  takeOver: `WITH RECURSIVE owners AS (
       (SELECT t.node FROM parley.tasks t WHERE ${IS_UNFINISHED} AND t.node IS NOT NULL ORDER BY t.node LIMIT 1)
       UNION ALL
       SELECT (SELECT t.node FROM parley.tasks t WHERE ${IS_UNFINISHED} AND t.node > o.node ORDER BY t.node LIMIT 1)
       FROM owners o WHERE o.node IS NOT NULL),
     gone AS (SELECT o.node FROM owners o WHERE o.node IS NOT NULL AND NOT ${isAlive('o.node')}),
     found AS (
       SELECT t.id FROM parley.tasks t WHERE ${IS_UNFINISHED} AND t.node = ANY (ARRAY(SELECT node FROM gone))
       ORDER BY t.id LIMIT $2 FOR UPDATE SKIP LOCKED)
     UPDATE parley.tasks t SET node = $1, epoch = t.epoch + 1 FROM found WHERE t.id = found.id
     RETURNING ${SCOPED_HEAD}`,
  // Used for a while after a failed takeover or a release, because then the database may contain tasks of the node that
  // the node does not know about.
  own: `SELECT ${SCOPED_HEAD} FROM parley.tasks t WHERE ${IS_UNFINISHED} AND t.node = $1`,
  // Returns the tasks that exist, and for each of them, whether this statement has released it.
  release: `WITH r AS (SELECT * FROM unnest($1::text[], $2::integer[]) AS r (task_id, epoch)),
     released AS (UPDATE parley.tasks t SET node = '' FROM r
       WHERE t.task_id = r.task_id AND t.epoch = r.epoch AND t.node = $3 RETURNING t.task_id)
     SELECT t.task_id, t.task_id IN (SELECT task_id FROM released)
     FROM parley.tasks t JOIN r ON r.task_id = t.task_id`,
  releaseAll: `UPDATE parley.tasks t SET node = '' WHERE ${IS_UNFINISHED} AND t.node = $1`,
  watched: 'SELECT t.task_id, t.seq, t.node FROM parley.tasks t WHERE t.task_id = ANY ($1)',

  ask: `INSERT INTO parley.requests (node, sender, body)
     SELECT $1, $2, $3 WHERE ${isAlive('$1')} RETURNING id`,
  withdraw: 'DELETE FROM parley.requests WHERE id = $1',
  take: `UPDATE parley.requests SET taken = true
     WHERE id IN (SELECT id FROM parley.requests WHERE node = $1 AND NOT taken ORDER BY id FOR UPDATE SKIP LOCKED)
     RETURNING id, body`,
  answer: 'UPDATE parley.requests SET answer = $2 WHERE id = $1 RETURNING sender',
  // Used after a lost connection, because then a node does not know which requests it has taken.
  taken: 'SELECT id, body FROM parley.requests WHERE node = $1 AND taken AND answer IS NULL',
  answers: 'SELECT id, answer FROM parley.requests WHERE sender = $1 AND answer IS NOT NULL',
  forget: `DELETE FROM parley.requests WHERE created_at < clock_timestamp() - interval '10 minutes'`,

  claimPush: `UPDATE parley.push p SET node = $3 WHERE p.task = ${TASK} AND p.config_id = $2
       AND (p.node IS NULL OR p.node = $3 OR NOT ${isAlive('p.node')}) RETURNING p.id`,
  releasePush: `UPDATE parley.push SET node = NULL WHERE task = ${TASK} AND config_id = $2 AND node = $3`,
  claimedPush: `SELECT t.task_id, p.config_id FROM parley.push p JOIN parley.tasks t ON t.id = p.task
     WHERE p.node = $1 AND t.task_id = ANY ($2)`,

  notify:
    'SELECT pg_notify(u.channel, u.payload) FROM unnest($1::text[], $2::text[]) AS u (channel, payload)',
});
