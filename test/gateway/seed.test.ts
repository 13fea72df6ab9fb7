// What a user of the dialect has in hand, pasted: the documented commands in a real shell, with curl, against a real
// `parley gateway`. Only the address, the key and the task's id are put in.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { isObject } from '../../src/base/index.ts';
import { promisify } from 'node:util';
import { connect } from '../../src/client/index.ts';
import { ErrorBody } from '../../src/gateway/api/openapi.ts';
import { DialectTask, TaskAnswer } from '../../src/gateway/dialect/schema.ts';
import { VERSIONS } from '../../src/protocol/index.ts';
import { createAgent, type Listening, serve } from '../../src/server.ts';
import { folder, start, type Running } from '../cli/support.ts';
import { until } from '../interop/support.ts';
import { framesIn } from './dialect-support.ts';

const DISCOVER = `curl http://localhost:8090/.well-known/agent.json`;

const CREATE = `curl -X POST http://localhost:8090/a2a/tasks/send \\
  -H "Content-Type: application/json" \\
  -H "Authorization: Bearer your-api-key" \\
  -d '{
    "sessionId": "session-123",
    "message": {
      "role": "user",
      "content": "Generate a summary"
    }
  }'`;

const GET = `curl http://localhost:8090/a2a/tasks/task-456 \\
  -H "Authorization: Bearer your-api-key"`;

const CANCEL = `curl -X POST http://localhost:8090/a2a/tasks/cancel \\
  -H "Content-Type: application/json" \\
  -H "Authorization: Bearer your-api-key" \\
  -d '{"taskId": "task-456"}'`;

/** What the Go client sends: json.Marshal of its struct, with http.Post. */
const GO_BODY = '{"sessionId":"session-123","message":{"role":"user","content":"Hello, agent!"}}';

let running: Running;
let asking: Listening;
let url: string;
let key: string;

before(async () => {
  const agent = createAgent(
    { name: 'Asking', description: 'Asks where to' },
    async function* (ctx) {
      const { text } = await ctx.ask('Where to?');
      yield `To ${text}`;
    },
  );
  asking = await serve(agent).listen();
  const file = path.join(folder, 'gateway.json');
  writeFileSync(file, JSON.stringify({ agents: { travel: { url: asking.url } } }));
  running = start(['gateway', '--port', '0', '--json', '--config', file]);
  const [line] = await running.saying(/.*\n/);
  ({ url, key } = JSON.parse(line) as { url: string; key: string });
  // The card of the agent is read in the background, and what it says becomes part of ours.
  await until(
    "the agent's skill on the card",
    async () => (await fetch(`${url}/.well-known/agent.json`)).text(),
    (card) => card.includes('travel/chat'),
  );
});

after(async () => {
  running?.child.kill('SIGTERM');
  await running?.ended;
  await asking?.close();
});

interface Pasted {
  readonly status: number;
  readonly body: unknown;
}

/** Runs a command as it stands, and asks curl for the status behind the body. */
async function paste(command: string, taskId = 'task-456'): Promise<Pasted> {
  const given = command
    .replaceAll('http://localhost:8090', url)
    .replaceAll('your-api-key', key)
    .replaceAll('task-456', taskId);
  const shell = `curl() { command curl --silent --show-error --write-out '\\n%{http_code}' "$@"; }\n${given}`;
  const { stdout } = await promisify(execFile)('bash', ['-c', shell], { timeout: 60_000 });
  const end = stdout.lastIndexOf('\n');
  return { status: Number(stdout.slice(end + 1)), body: JSON.parse(stdout.slice(0, end)) };
}

function taskIn({ status, body }: Pasted): DialectTask {
  assert.equal(status, 200, JSON.stringify(body));
  return TaskAnswer.parse(body).task;
}

function errorIn({ status, body }: Pasted): { status: number; error: string } {
  return { status, ...ErrorBody.strict().parse(body) };
}

function post(at: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  const json = { 'content-type': 'application/json' };
  return fetch(url + at, { method: 'POST', headers: { ...json, ...headers }, body });
}

function withKey(): { authorization: string } {
  return { authorization: `Bearer ${key}` };
}

/** A task that waits for its answer, because the agent behind the gateway asks. */
async function waiting(): Promise<DialectTask> {
  const message = { role: 'user', content: 'a trip' };
  const body = JSON.stringify({ message, metadata: { agent: 'travel' } });
  const answer = await post('/a2a/tasks/send', body, withKey());
  const { task } = TaskAnswer.parse(await answer.json());
  assert.equal(task.status, 'input-required');
  return task;
}

test('discover: the card needs no key, and has every field that is documented', async () => {
  const { status, body } = await paste(DISCOVER);
  assert.equal(status, 200);
  assert.ok(isObject(body) && isObject(body['capabilities']) && Array.isArray(body['skills']));
  for (const field of ['name', 'description', 'url', 'version']) {
    assert.equal(typeof body[field], 'string', field);
  }
  for (const flag of ['streaming', 'pushNotifications', 'stateTransitionHistory']) {
    assert.equal(typeof body['capabilities'][flag], 'boolean', flag);
  }
  assert.deepEqual(body['authentication'], { schemes: ['Bearer', 'APIKey'] });
  const [chat] = body['skills'] as unknown[];
  assert.ok(isObject(chat) && isObject(chat['input']) && isObject(chat['output']));
  assert.equal(chat['id'], 'chat-completion');
  const again = await fetch(`${url}/.well-known/agent-card.json`);
  assert.deepEqual(await again.json(), body);
});

test('create, get, and a cancellation that comes too late', async () => {
  const task = taskIn(await paste(CREATE));
  assert.equal(task.status, 'completed');
  assert.equal(task.sessionId, 'session-123');
  assert.equal(task.message?.content, 'Generate a summary');
  assert.notEqual(task.artifacts[0]?.content ?? '', '');
  assert.deepEqual(taskIn(await paste(GET, task.id)), task);
  const { status, error } = errorIn(await paste(CANCEL, task.id));
  assert.equal(status, 409);
  assert.match(error, /^The task is already completed/);
});

test('get and cancel as they stand: there is no such task', async () => {
  assert.equal(errorIn(await paste(GET)).status, 404);
  assert.equal(errorIn(await paste(CANCEL)).status, 404);
});

test('cancel: a task that is not finished is cancelled', async () => {
  const { id } = await waiting();
  const task = taskIn(await paste(CANCEL, id));
  assert.equal(task.status, 'cancelled');
  assert.deepEqual(taskIn(await paste(GET, id)), task);
});

test('the request of the Go client: a finished task with the key in either header, 401 without', async () => {
  for (const header of [withKey(), { 'x-api-key': key }]) {
    const answer = await post('/a2a/tasks/send', GO_BODY, header);
    assert.equal(answer.status, 200);
    const { task } = TaskAnswer.parse(await answer.json());
    assert.equal(task.status, 'completed');
    assert.equal(task.history[0]?.content, 'Hello, agent!');
  }
  const none: Record<string, string> = {};
  for (const header of [none, { authorization: 'Bearer your-api-key' }]) {
    const answer = await post('/a2a/tasks/send', GO_BODY, header);
    assert.equal(answer.status, 401);
    ErrorBody.strict().parse(await answer.json());
  }
});

test('a stream has the documented events, and is resumed behind the last that was seen', async () => {
  const answer = await post('/a2a/tasks/sendSubscribe', GO_BODY, withKey());
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  const frames = framesIn(await answer.text());
  const types = frames.map(({ data }) => data.type);
  assert.deepEqual(
    frames.slice(0, 2).map(({ data }) => 'status' in data && data.status),
    ['submitted', 'working'],
  );
  assert.ok(types.includes('artifact'));
  assert.equal(types.at(-1), 'completed');
  assert.deepEqual(
    frames.map(({ id }) => id),
    frames.map((_, at) => at + 1),
  );
  const body = JSON.stringify({ taskId: frames[0]?.data.taskId });
  const resumed = { ...withKey(), 'last-event-id': '2' };
  const rest = framesIn(await (await post('/a2a/tasks/sendSubscribe', body, resumed)).text());
  assert.deepEqual(
    rest.map(({ id }) => id),
    frames.slice(2).map(({ id }) => id),
  );
});

test('another method is 405 with Allow, another path 404, broken JSON 400, too large a body 413', async () => {
  const wrong = await fetch(`${url}/a2a/tasks/send`, { headers: withKey() });
  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers.get('allow'), 'POST');
  const answers = [
    wrong,
    await fetch(`${url}/a2a/nothing`, { headers: withKey() }),
    await post('/a2a/tasks/send', '{', withKey()),
    await post('/a2a/tasks/send', `"${'x'.repeat(11 * 1024 * 1024)}"`, withKey()),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [405, 404, 400, 413],
  );
  for (const answer of answers) ErrorBody.strict().parse(await answer.json());
});

for (const version of VERSIONS) {
  test(`an A2A client of ${version} sees the same tasks, and the dialect those of the client`, async () => {
    const client = await connect(url, { version, headers: withKey() });
    const asked = await waiting();
    const seen = await client.get(asked.id);
    assert.equal(seen.status.state, 'input-required');
    assert.equal(seen.contextId, asked.sessionId);
    const answered = await client.send('Rome', { taskId: asked.id });
    assert.ok(answered.kind === 'task' && answered.status.state === 'completed');
    const finished = taskIn(await paste(GET, asked.id));
    assert.equal(finished.status, 'completed');
    assert.equal(finished.artifacts[0]?.content, 'To Rome');
    const own = await client.send('Hello');
    assert.ok(own.kind === 'task');
    assert.equal(taskIn(await paste(GET, own.id)).status, 'completed');
    const canceled = await waiting();
    await client.cancel(canceled.id);
    assert.equal(taskIn(await paste(GET, canceled.id)).status, 'cancelled');
  });
}
