/**
 * The cost of a request with many tasks in PostgreSQL, compared with an empty database: get, list and send through the
 * handler. Both databases are in one server, and the rounds alternate. PostgreSQL syncs every commit to the disk.
 */
import { randomUUIDv7 } from 'node:crypto';
import pg from 'pg';
import { postgresStore } from '../src/store/postgres/postgres-store.ts';
import { createAgent, createHandler, type RequestHandler } from '../src/tasks/index.ts';
import { compare, type Row } from './measure.ts';

const ROUNDS = 7;
/** Requests in a round, and how many of them are in progress at a time. */
const REQUESTS = 1000;
const CLIENTS = 8;
const OWNERS = 100;
const logger = { debug() {}, info() {}, warn() {}, error: console.error };
const noCpu = () => undefined;

const agent = createAgent({ name: 'Echo', description: 'Echoes' }, async function* (ctx) {
  yield ctx.text;
});

/** Tasks of `OWNERS` users, with a message, an artifact and an end each, as the store would have written them. */
const FILL = `
  INSERT INTO parley.tasks (task_id, scope, context_id, state, seq, status_seq, changed, created_at, bytes, counted,
      epoch)
    SELECT 'filled-' || n, owners.ids[1 + n % ${OWNERS}],
      'context-' || n / 5, 'completed', 3, 3, (extract(epoch FROM now()) * 1000 - $TASKS + n)::bigint * 1024,
      extract(epoch FROM now())::bigint * 1000, 1000, 1000, 1
    FROM generate_series(1, $TASKS) n
      CROSS JOIN (SELECT array_agg(id ORDER BY owner) AS ids FROM parley.scopes) owners;
  INSERT INTO parley.events (task, seq, json)
    SELECT t.id, s, CASE s
      WHEN 1 THEN '{"kind":"task","id":"' || t.task_id || '","contextId":"' || t.context_id
        || '","status":{"state":"submitted"},"history":[{"kind":"message","messageId":"m' || t.id
        || '","role":"user","parts":[{"kind":"text","text":"The question of a user, in a few words."}]}]}'
      WHEN 2 THEN '{"kind":"artifact-update","taskId":"' || t.task_id || '","contextId":"' || t.context_id
        || '","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"' || repeat('An answer of the agent. ', 10)
        || '"}]}}'
      ELSE '{"kind":"status-update","taskId":"' || t.task_id || '","contextId":"' || t.context_id
        || '","status":{"state":"completed"},"final":true}' END
    FROM parley.tasks t CROSS JOIN generate_series(1, 3) s WHERE t.task_id LIKE 'filled-%' ORDER BY t.id, s;
  INSERT INTO parley.messages (scope, message_id, task)
    SELECT scope, 'm' || id, id FROM parley.tasks WHERE task_id LIKE 'filled-%';
  INSERT INTO parley.counters (scope, state, shard, n, bytes)
    SELECT scope, state, 100, count(*), sum(bytes) FROM parley.tasks WHERE task_id LIKE 'filled-%'
    GROUP BY scope, state;
`;

async function fill(url: string, tasks: number): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(FILL.replaceAll('$TASKS', String(tasks)));
  // As autovacuum does it in a database that grows slowly.
  await client.query('VACUUM (ANALYZE) parley.tasks, parley.events, parley.messages');
  await client.end();
}

/** Runs `each` many times, a few at a time. */
async function requests(each: (at: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const client = async () => {
    for (let at = next++; at < REQUESTS; at = next++) await each(at);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return REQUESTS;
}

interface Subject {
  readonly name: string;
  readonly handler: RequestHandler;
  readonly ids: string[];
}

/** The owner of every OWNERS-th task. The names are sorted like the numbers. */
const user = (at: number) => ({ user: { id: `owner${String(at % OWNERS).padStart(3, '0')}` } });

async function send({ handler, ids }: Subject, at: number): Promise<void> {
  const parts = [{ kind: 'text' as const, text: 'hello' }];
  const message = {
    kind: 'message' as const,
    messageId: randomUUIDv7(),
    role: 'user' as const,
    parts,
  };
  const task = await handler.sendMessage({ message }, user(at));
  if (task.kind === 'task') ids[at] = task.id;
}

export async function largeStore(url: string, tasks: number): Promise<Row[]> {
  const admin = new pg.Client(url);
  await admin.connect();
  const subjects: Subject[] = [];
  try {
    for (const name of ['bare', 'parley']) {
      const database = `parley_bench_${name}`;
      await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
      await admin.query(`CREATE DATABASE ${database}`);
      const place = new URL(url);
      place.pathname = `/${database}`;
      const store = await postgresStore(place.href, { logger });
      const handler = createHandler(agent, { store, logger });
      await handler.recover();
      const subject = { name, handler, ids: [] };
      subjects.push(subject);
      for (let at = 0; at < OWNERS; at++) await send(subject, at);
      if (name === 'parley') await fill(place.href, tasks);
    }
    const rows: Row[] = [];
    const measure = async (
      what: string,
      each: (subject: Subject, at: number) => Promise<unknown>,
    ) => {
      const costs = await compare(
        ROUNDS,
        subjects.map((subject) => ({
          subject: { name: subject.name, cpu: noCpu },
          run: () => requests((at) => each(subject, at)),
        })),
      );
      const wall = (name: string) => (costs.get(name)?.wallUs ?? Number.NaN) / 1000;
      const values = { empty: wall('bare'), parley: wall('parley') };
      rows.push({
        scenario: `PostgreSQL, ${tasks.toLocaleString('en')} tasks: ${what}`,
        unit: 'ms wall',
        values,
        goal: { text: '≤ 1.5 × empty', reached: values.parley / values.empty, most: 1.5 },
      });
    };
    await measure('send', send);
    const anyOf = (at: number) => {
      const old = Math.floor((Math.random() * tasks) / OWNERS) * OWNERS + (at % OWNERS);
      return `filled-${Math.max(old, OWNERS + (at % OWNERS))}`;
    };
    // The same number of tasks in both databases. In the large one, they are spread over all tasks.
    const some = Array.from({ length: REQUESTS }, (_, at) => anyOf(at));
    await measure('get', ({ name, handler, ids }, at) => {
      return handler.getTask({ id: (name === 'bare' ? ids[at] : some[at]) ?? '' }, user(at));
    });
    // After the sends, each owner has more tasks than this in both databases.
    await measure('list', ({ handler }, at) => handler.listTasks({ pageSize: 15 }, user(at)));
    // Other tasks in each request. With the default size of PostgreSQL's cache, most of them are not in it.
    await measure('get, any task', ({ name, handler, ids }, at) => {
      const id = name === 'bare' ? ids[at] : anyOf(at);
      return handler.getTask({ id: id ?? '' }, user(at));
    });
    return rows;
  } finally {
    for (const { handler } of subjects) await handler.close(0);
    for (const name of ['bare', 'parley']) {
      await admin.query(`DROP DATABASE IF EXISTS parley_bench_${name} WITH (FORCE)`);
    }
    await admin.end();
  }
}
