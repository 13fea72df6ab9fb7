/** Nodes in this process that share one PostgreSQL database. */
import { randomUUIDv7 } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { Message, StreamItem, Task } from '../../src/protocol/index.ts';
import { postgresStore, type PostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { ClusterOptions } from '../../src/store/postgres/node-database.ts';
import {
  createHandler,
  type AgentExecutor,
  type HandlerOptions,
  type RequestHandler,
  type TaskStream,
} from '../../src/tasks/index.ts';
import { testDatabase, type TestDatabase } from '../support/postgres.ts';

export const silent = { debug() {}, info() {}, warn() {}, error() {} };

export interface TestNode {
  readonly handler: RequestHandler;
  readonly store: PostgresStore;
  /** The id of the node in the database. */
  readonly id: string;
}

export interface NodeOptions extends HandlerOptions {
  readonly cluster?: ClusterOptions | undefined;
  readonly secretKey?: string | undefined;
}

/** Opens a database for the tests of a file. */
export async function clusterDatabase(): Promise<TestDatabase> {
  return testDatabase();
}

/** Starts a node. It is closed after the test. */
export async function startNode(
  t: TestContext,
  url: string,
  executor: AgentExecutor,
  { cluster, secretKey, ...options }: NodeOptions = {},
): Promise<TestNode> {
  const store = await postgresStore(url, { logger: silent, poolSize: 4, cluster, secretKey });
  const handler = createHandler(executor, {
    store,
    logger: silent,
    ...options,
    limits: { graceMs: 500, ...options.limits },
  });
  await handler.recover();
  t.after(() => handler.close(0));
  return {
    handler,
    store,
    get id() {
      return store.cluster.node;
    },
  };
}

export function says(text: string, extra: Partial<Message> = {}): Message {
  const parts = [{ kind: 'text' as const, text }];
  return { kind: 'message', messageId: randomUUIDv7(), role: 'user', parts, ...extra };
}

/** Starts a task and returns it without waiting for its end. */
export async function begin(handler: RequestHandler, text: string): Promise<Task> {
  const task = await handler.sendMessage({
    message: says(text),
    configuration: { blocking: false },
  });
  if (task.kind !== 'task') throw new Error('not a task');
  return task;
}

/** Reads a stream to its end. */
export async function all(stream: TaskStream): Promise<StreamItem[]> {
  const items: StreamItem[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

export function textOfTask(task: Task): string {
  return (task.artifacts ?? [])
    .flatMap(({ parts }) => parts)
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('');
}
