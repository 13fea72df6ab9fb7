// A server that is killed again and again, and a receiver of webhooks that fails at random, is down for a while and
// restarts: every event of every task arrives, in order.
import assert from 'node:assert/strict';
import { verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { folder, startProgram } from '../cli/support.ts';

const KILLS = 10;
const TASKS_PER_ROUND = 10;
/** The rounds in which the receiver goes down. It stays down while the server is killed and starts again. */
const DOWN = new Set([2, 6]);
const DOWN_MS = 4000;
/** The text of the bench agent: twelve events, with pauses, so that a kill meets tasks at work. */
const WORK = 'task 12 64 15';

const Jwks = z.object({ keys: z.array(z.looseObject({ x: z.string() })) });
const Sent = z.object({ task: z.looseObject({ id: z.string() }) });
const Ready = z.object({ url: z.string() });
const Log = z.object({ events: z.array(z.looseObject({ seq: z.int() })) });

/** A receiver that keeps what it has taken. It can be shut down and started again on its port. */
function receiver() {
  /** The sequence numbers of each task in the order in which they came first. */
  const taken = new Map<string, number[]>();
  const counts = { requests: 0, failed: 0, repeated: 0, unsigned: 0 };
  let port = 0;
  let key: Parameters<typeof verify>[2] | undefined;

  function take({ headers }: IncomingMessage, body: string): void {
    const id = String(headers['webhook-id']);
    const [taskId = '', config, seq] = id.split('.');
    assert.equal(config, 'hook');
    const signed = Buffer.from(`${id}.${String(headers['webhook-timestamp'])}.${body}`);
    const [, signature = ''] = String(headers['webhook-signature']).split(',');
    if (!key || !verify(null, signed, key, Buffer.from(signature, 'base64'))) counts.unsigned++;
    const seqs = taken.get(taskId) ?? [];
    taken.set(taskId, seqs);
    if (seqs.includes(Number(seq))) counts.repeated++;
    else seqs.push(Number(seq));
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      counts.requests++;
      const chance = Math.random();
      if (chance < 0.25) counts.failed++;
      // In some cases it takes the event, but its answer is lost, or comes too late.
      if (chance >= 0.15) take(request, body);
      if (chance < 0.07) response.writeHead(500).end();
      else if (chance < 0.1) response.writeHead(503, { 'retry-after': '1' }).end();
      else if (chance < 0.2) response.destroy();
      else if (chance >= 0.25) response.writeHead(204).end();
    });
  }

  let server = createServer(answer);
  return {
    taken,
    counts,
    get url() {
      return `http://127.0.0.1:${port}/hook`;
    },
    trust(jwk: Record<string, unknown>) {
      key = { key: jwk, format: 'jwk' };
    },
    async up() {
      server = createServer(answer).listen(port, '127.0.0.1');
      await once(server, 'listening');
      ({ port } = server.address() as AddressInfo);
    },
    async down() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

test('a server that is killed ten times and a receiver that fails: no event of a hundred tasks is lost, and all come in order', async (t) => {
  const hook = receiver();
  await hook.up();
  const start = async () => {
    const running = startProgram(path.join(import.meta.dirname, 'push-server.ts'), [folder]);
    const [line] = await running.saying(/.*\n/);
    return { ...running, ...Ready.parse(JSON.parse(line)) };
  };
  const json = { 'content-type': 'application/json', 'a2a-version': '1.0' };
  const tasks: string[] = [];
  let server = await start();
  t.after(async () => {
    server.child.kill('SIGKILL');
    await hook.down();
  });
  const keys = Jwks.parse(await (await fetch(`${server.url}/.well-known/jwks.json`)).json());
  hook.trust(keys.keys[0]!);

  /** Starts a task with a webhook. The client repeats the message until it has an answer, as clients do. */
  async function begin(messageId: string): Promise<void> {
    const body = JSON.stringify({
      message: { messageId, role: 'ROLE_USER', parts: [{ text: WORK }] },
      configuration: {
        returnImmediately: true,
        taskPushNotificationConfig: { id: 'hook', url: hook.url, token: 'a token' },
      },
    });
    const response = await fetch(`${server.url}/message:send`, {
      method: 'POST',
      headers: json,
      body,
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    tasks.push(Sent.parse(JSON.parse(text)).task.id);
  }

  let down: Promise<unknown> = Promise.resolve();
  for (let round = 0; round < KILLS; round++) {
    const names = Array.from({ length: TASKS_PER_ROUND }, (_, n) => `m${round}-${n}`);
    await Promise.all(names.map(begin));
    if (DOWN.has(round)) {
      await down;
      await hook.down();
      down = delay(DOWN_MS).then(() => hook.up());
    }
    await delay(Math.random() * 300);
    server.child.kill('SIGKILL');
    await server.ended;
    server = await start();
  }
  await down;

  const deadline = Date.now() + 60_000;
  for (const id of tasks) {
    const page = await fetch(`${server.url}/tasks/${id}/events`, { headers: json });
    const { events } = Log.parse(await page.json());
    const expected = events.map(({ seq }) => seq);
    while (Date.now() < deadline && (hook.taken.get(id)?.length ?? 0) < expected.length) {
      await delay(50);
    }
    assert.deepEqual(hook.taken.get(id), expected, `the webhook of ${id}`);
  }
  assert.equal(new Set(tasks).size, KILLS * TASKS_PER_ROUND);
  assert.equal(hook.counts.unsigned, 0);
  t.diagnostic(JSON.stringify(hook.counts));
});
