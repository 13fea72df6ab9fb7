// The dialect's routes over a real handler, without HTTP: what a client would get, as status and body or as frames.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { isObject } from '../../src/base/index.ts';
import * as z from 'zod';
import { Caller } from '../../src/gateway/api/caller.ts';
import { dialectRoutes } from '../../src/gateway/dialect/routes.ts';
import { DialectEvent, TaskAnswer, type DialectTask } from '../../src/gateway/dialect/schema.ts';
import { ErrorBody } from '../../src/gateway/api/openapi.ts';
import type { RouteStream } from '../../src/http/index.ts';
import { A2AError } from '../../src/protocol/index.ts';
import {
  createHandler,
  memoryStore,
  type AgentExecutor,
  type ExecutorEvent,
  type RequestHandler,
  type TaskStore,
} from '../../src/tasks/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { within } from '../support/within.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** A stream's event with its id. */
export interface Frame {
  readonly id: number;
  readonly data: DialectEvent;
}

export interface Reply {
  readonly status: number;
  readonly task?: DialectTask;
  readonly error?: string;
}

export interface Following {
  /** Resolves when the stream is over. */
  readonly frames: Promise<Frame[]>;
  /** Resolves with the first frame that fits. */
  until(fits: (frame: Frame) => boolean): Promise<Frame>;
  readonly raw: () => string;
}

export interface Dialect {
  readonly handler: RequestHandler;
  send(body: unknown): Promise<Reply>;
  get(taskId: string): Promise<Reply>;
  cancel(taskId: unknown): Promise<Reply>;
  /** Rejects with an A2AError where the stream is refused. */
  follow(body: unknown, after?: number | string): Promise<Following>;
  refusedStream(body: unknown, after?: number | string): Promise<Reply>;
}

const FULL_ACCESS = new Set(['*']);

export function callerIn(workspace: string): Caller {
  return new Caller({ workspace, actor: 'key:test', scopes: FULL_ACCESS });
}

/** The routes as one workspace sees them. */
export function dialectOver(handler: RequestHandler, workspace = 'default'): Dialect {
  const routes = dialectRoutes();
  const caller = callerIn(workspace);

  function handle(verb: string, at: string, body: unknown, values = {}, after?: number | string) {
    const route = routes.find((each) => each.verb === verb && each.path === at);
    assert.ok(route, `${verb} ${at}`);
    const header = (name: string) =>
      name === 'last-event-id' && after !== undefined ? String(after) : undefined;
    const query = new URLSearchParams();
    const call = { user: caller };
    // Inside a promise, as the transport has it: a body that is refused is refused before there is one.
    return Promise.resolve().then(() =>
      route.handle({ values, query, body, caller, call, handler, header }),
    );
  }

  async function unary(...request: Parameters<typeof handle>): Promise<Reply> {
    try {
      const answer = await handle(...request);
      assert.ok('body' in answer);
      const { task } = exactly(TaskAnswer, answer.body);
      return { status: answer.status ?? 200, task };
    } catch (error) {
      return refusal(error);
    }
  }

  async function follow(body: unknown, after?: number | string): Promise<Following> {
    const answer = await handle('POST', '/a2a/tasks/sendSubscribe', body, {}, after);
    assert.ok('stream' in answer);
    return reading(answer);
  }

  return {
    handler,
    send: (body) => unary('POST', '/a2a/tasks/send', body),
    get: (taskId) => unary('GET', '/a2a/tasks/{taskId}', undefined, { taskId }),
    cancel: (taskId) => unary('POST', '/a2a/tasks/cancel', { taskId }),
    follow,
    async refusedStream(body, after) {
      try {
        await follow(body, after);
      } catch (error) {
        return refusal(error);
      }
      return assert.fail('the stream was not refused');
    },
  };
}

function refusal(error: unknown): Reply {
  assert.ok(error instanceof A2AError, String(error));
  exactly(ErrorBody, { error: error.message });
  return { status: error.httpStatus, error: error.message };
}

/** As the schema has it, with nothing that it does not name. */
function exactly<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.parse(value);
  assert.deepEqual(parsed, value);
  return parsed;
}

function reading({ stream, frame }: RouteStream): Following {
  let text = '';
  let wake = () => {};
  let over = false;
  const ended = new Promise<void>((resolve) => {
    stream.pipe({
      take(item) {
        text += frame(item);
        wake();
        return true;
      },
      end() {
        over = true;
        wake();
        resolve();
      },
    });
  });
  return {
    frames: ended.then(() => framesIn(text)),
    raw: () => text,
    async until(fits) {
      for (;;) {
        const found = framesIn(text).find(fits);
        if (found) return found;
        assert.ok(!over, `the stream ended without it: ${text}`);
        await within(
          `a frame that is ${String(fits)}`,
          new Promise<void>((resolve) => (wake = resolve)),
        );
      }
    },
  };
}

export function framesIn(text: string): Frame[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const [, id, data] = /^id: (\d+)\ndata: (.*)$/s.exec(block) ?? [];
      assert.ok(id !== undefined && data !== undefined, `no frame of ours: ${block}`);
      return { id: Number(id), data: exactly(DialectEvent, JSON.parse(data)) };
    });
}

export type StoreName = 'memory' | 'sqlite';
export const STORES: readonly StoreName[] = ['memory', 'sqlite'];

export function storeFor(t: TestContext, name: StoreName): TaskStore {
  if (name === 'memory') return memoryStore();
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-dialect-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return sqliteStore(path.join(folder, 'tasks.db'));
}

export function start(t: TestContext, executor = obedient(), store: StoreName = 'memory'): Dialect {
  const options = { store: storeFor(t, store), logger: silent, limits: { graceMs: 200 } };
  const handler = createHandler(executor, options);
  t.after(() => handler.close());
  return dialectOver(handler);
}

export const USAGE = { inputTokens: 3, outputTokens: 2 };

/** Does what the first word says; anything else is streamed back word by word. */
export function obedient(): AgentExecutor {
  return {
    receive: ({ metadata }, task) =>
      !task && metadata && Object.keys(metadata).length > 0 ? { metadata } : {},
    async *execute({ message, signal, turn }): AsyncGenerator<ExecutorEvent> {
      const [part] = message.parts;
      const text = part?.kind === 'text' ? part.text : '';
      const [verb] = text.split(' ', 1);
      const untilAborted = () =>
        new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      if (verb === 'silent') {
        await untilAborted();
        return;
      }
      yield { kind: 'status-update', state: 'working' };
      if (verb === 'hold') {
        await untilAborted();
      } else if (verb === 'ask' && turn.length === 1) {
        yield { kind: 'status-update', state: 'input-required', message: 'Which city?' };
      } else if (verb === 'auth' && turn.length === 1) {
        yield { kind: 'status-update', state: 'auth-required', message: 'Sign in' };
      } else if (verb === 'fail') {
        yield { kind: 'status-update', state: 'failed', message: 'It cannot be done' };
      } else if (verb === 'reject') {
        yield { kind: 'status-update', state: 'rejected', message: 'Not this' };
      } else if (verb === 'throw') {
        throw new Error('the secret is 42');
      } else {
        yield* spoken(text);
      }
    },
  };
}

function* spoken(text: string): Generator<ExecutorEvent> {
  for (const [at, word] of text.split(' ').entries()) {
    const artifact = { artifactId: 'answer', parts: [{ kind: 'text' as const, text: `${word} ` }] };
    yield { kind: 'artifact-update', artifact, append: at > 0 };
  }
  yield {
    kind: 'status-update',
    state: 'completed',
    message: {
      kind: 'message',
      messageId: `said-${text}`,
      role: 'agent',
      parts: [{ kind: 'text', text: `${text} ` }],
      metadata: { usage: USAGE },
    },
  };
}

export function saying(content: unknown, more: object = {}) {
  return { message: { role: 'user', content }, ...more };
}

/** The task of an answer that is no refusal. */
export function taskOf({ task, error }: Reply): DialectTask {
  assert.ok(task, error);
  return task;
}

/** Without the time at which an artifact was sent, which is another one when it is sent again. */
export function timeless(frames: readonly Frame[]): unknown[] {
  return frames.map(({ id, data }) => {
    if (data.type !== 'artifact') return { id, data };
    const { timestamp: _, ...rest } = data;
    return { id, data: rest };
  });
}

/** The task that a stream tells of, by a reader that knows only what the dialect says of it. */
export function foldedFrom(frames: readonly Frame[]): DialectTask {
  const [first] = frames;
  assert.ok(first?.data.type === 'status' && first.id === 1);
  const { taskId: id, sessionId = '', status, message, metadata = {}, timestamp } = first.data;
  const createdAt = new Date(
    Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16),
  ).toISOString();
  const task: DialectTask = {
    id,
    status,
    sessionId,
    ...(message && { message }),
    artifacts: [],
    history: [],
    metadata,
    createdAt,
    updatedAt: timestamp,
  };
  for (const { data } of frames) {
    if (data.type === 'artifact') addArtifact(task, data);
    else addStatus(task, data, metadata);
  }
  return task;
}

function addStatus(
  task: DialectTask,
  event: Exclude<DialectEvent, { type: 'artifact' }>,
  metadata: Record<string, unknown>,
): void {
  task.status = event.status;
  task.updatedAt = event.timestamp;
  if ('error' in event && event.error !== undefined) task.error = event.error;
  const { message } = event;
  if (message && task.history.at(-1)?.messageId !== message.messageId) task.history.push(message);
  const usage = message?.role === 'agent' ? message.metadata?.['usage'] : undefined;
  task.metadata = isObject(usage) ? { ...metadata, usage } : metadata;
}

function addArtifact(
  { artifacts }: DialectTask,
  { artifact, append }: DialectEvent & { type: 'artifact' },
): void {
  const at = artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
  const known = artifacts[at];
  const whole: DialectTask['artifacts'][number] = { ...artifact, parts: [] };
  if (known && append === true) {
    Object.assign(whole, {
      ...known,
      ...artifact,
      ...(known.metadata && { metadata: { ...known.metadata, ...artifact.metadata } }),
      content: known.content + artifact.content,
      parts: known.parts,
    });
  }
  for (const part of artifact.parts) {
    const last = whole.parts.at(-1);
    const plain = (each: typeof last) => each?.type === 'text' && !('metadata' in each);
    if (last?.type === 'text' && part.type === 'text' && plain(last) && plain(part)) {
      last.text += part.text;
    } else {
      whole.parts.push({ ...part });
    }
  }
  if (known) artifacts[at] = whole;
  else artifacts.push(whole);
}
