/** Decodes what a live session sends: JSON-RPC frames and the objects in them. Invalid frames throw. */
import { isObject } from '../../base/index.ts';
import { ToolCall } from '../../protocol/development-tool/index.ts';
import { A2AError, v03, type Task } from '../../protocol/index.ts';
import type { LiveClient, LiveItem, LiveSnapshot, QueuedPrompt } from './session.ts';

type JsonFields = Readonly<Record<string, unknown>>;

export type LiveFrame =
  | { readonly kind: 'item'; readonly item: LiveItem; readonly self?: LiveClient }
  | { readonly kind: 'response'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: number | undefined; readonly error: A2AError }
  /** A notification that only later versions know. */
  | { readonly kind: 'unknown' };

/** Throws `invalidAgentResponse` for an invalid frame. */
export function decodeFrame(text: string): LiveFrame {
  const { method, params, id, result, error } = objectFrom(json(text), 'frame');
  if (typeof method === 'string') return notification(method, objectFrom(params ?? {}, method));
  const number = typeof id === 'number' ? id : undefined;
  if (isObject(error)) return { kind: 'error', id: number, error: v03.decodeError(error) };
  if (number === undefined) throw invalid('a response without an id');
  return { kind: 'response', id: number, result };
}

function notification(method: string, params: JsonFields): LiveFrame {
  switch (method) {
    case 'session/snapshot': {
      const item: LiveItem = { kind: 'snapshot', snapshot: decodeSnapshot(params) };
      return params['self'] === undefined
        ? { kind: 'item', item }
        : { kind: 'item', item, self: decodeClient(params['self']) };
    }
    case 'tasks/event': {
      const taskId = text(params, 'taskId');
      const event = v03.decodeEvent(params['event']);
      return { kind: 'item', item: { kind: 'event', taskId, seq: whole(params, 'seq'), event } };
    }
    case 'session/presence': {
      const clients = listFrom(params, 'clients').map(decodeClient);
      const queued = listFrom(params, 'queued').map(decodeQueued);
      return { kind: 'item', item: { kind: 'presence', clients, queued } };
    }
    default:
      return { kind: 'unknown' };
  }
}

function decodeSnapshot(params: JsonFields): LiveSnapshot {
  return {
    taskId: text(params, 'taskId'),
    contextId: text(params, 'contextId'),
    task: decodeTask(params['task']),
    pending: listFrom(params, 'pending').map(decodeCall),
    approval: text(params, 'approval'),
    // Parley sends these two; other servers may omit them.
    model: text(params, 'model', ''),
    workspace: text(params, 'workspace', ''),
    clients: listFrom(params, 'clients').map(decodeClient),
    seq: whole(params, 'seq'),
    ...(params['earlier'] !== undefined && {
      earlier: listFrom(params, 'earlier').map(decodeTask),
    }),
  };
}

export function decodeTask(raw: unknown): Task {
  const event = v03.decodeEvent(raw);
  if (event.kind !== 'task') throw invalid('an invalid task');
  return event;
}

function decodeCall(raw: unknown): ToolCall {
  const call = ToolCall.safeParse(raw);
  if (!call.success) throw invalid('an invalid tool call');
  return call.data;
}

export function decodeClient(raw: unknown): LiveClient {
  const client = objectFrom(raw, 'client');
  const kind = text(client, 'kind');
  if (kind !== 'terminal' && kind !== 'a2a' && kind !== 'acp') {
    throw invalid(`a client of the unknown kind ${kind}`);
  }
  const roles = listFrom(client, 'roles').filter(
    (role) => role === 'view' || role === 'prompt' || role === 'approve',
  );
  return { id: text(client, 'id'), name: text(client, 'name'), kind, roles };
}

function decodeQueued(raw: unknown): QueuedPrompt {
  const queued = objectFrom(raw, 'queued prompt');
  return { text: text(queued, 'text'), from: text(queued, 'from') };
}

export function objectFrom(raw: unknown, what: string): JsonFields {
  if (isObject(raw)) return raw;
  throw invalid(`an invalid ${what}: expected an object`);
}

export function listFrom(from: JsonFields, key: string): readonly unknown[] {
  const value = from[key];
  if (Array.isArray(value)) return value;
  throw invalidField(key);
}

function text(from: JsonFields, key: string, otherwise?: string): string {
  const value = from[key] ?? otherwise;
  if (typeof value === 'string') return value;
  throw invalidField(key);
}

function whole(from: JsonFields, key: string): number {
  const value = from[key];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalidField(key);
}

function json(frame: string): unknown {
  try {
    return JSON.parse(frame);
  } catch {
    throw invalid('invalid JSON');
  }
}

function invalidField(key: string): A2AError {
  return invalid(`a missing or invalid field: ${key}`);
}

function invalid(what: string): A2AError {
  return new A2AError('invalidAgentResponse', `The live session sent ${what}`);
}
