/** What a live session sends, read strictly: frames of JSON-RPC, and the things in them. */
import { isObject } from '../../base/index.ts';
import { ToolCall } from '../../protocol/development-tool/index.ts';
import { A2AError, v03, type Task } from '../../protocol/index.ts';
import type { LiveClient, LiveItem, LiveSnapshot, QueuedPrompt } from './session.ts';

type Fields = Readonly<Record<string, unknown>>;

export type Frame =
  | { readonly kind: 'item'; readonly item: LiveItem; readonly self?: LiveClient }
  | { readonly kind: 'response'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: number | undefined; readonly error: A2AError }
  /** A notification of a later version. */
  | { readonly kind: 'unknown' };

/** Throws `invalidAgentResponse` for what is no frame of a live session. */
export function readFrame(text: string): Frame {
  const { method, params, id, result, error } = fields(json(text), 'a frame');
  if (typeof method === 'string') return notification(method, fields(params ?? {}, method));
  const number = typeof id === 'number' ? id : undefined;
  if (isObject(error)) return { kind: 'error', id: number, error: v03.decodeError(error) };
  if (number === undefined) throw wrong('a response without its id');
  return { kind: 'response', id: number, result };
}

function notification(method: string, params: Fields): Frame {
  switch (method) {
    case 'session/snapshot': {
      const item: LiveItem = { kind: 'snapshot', snapshot: readSnapshot(params) };
      return params['self'] === undefined
        ? { kind: 'item', item }
        : { kind: 'item', item, self: readClient(params['self']) };
    }
    case 'tasks/event': {
      const taskId = text(params, 'taskId');
      const event = v03.decodeEvent(params['event']);
      return { kind: 'item', item: { kind: 'event', taskId, seq: whole(params, 'seq'), event } };
    }
    case 'session/presence': {
      const clients = list(params, 'clients').map(readClient);
      const queued = list(params, 'queued').map(readQueued);
      return { kind: 'item', item: { kind: 'presence', clients, queued } };
    }
    default:
      return { kind: 'unknown' };
  }
}

function readSnapshot(params: Fields): LiveSnapshot {
  return {
    taskId: text(params, 'taskId'),
    contextId: text(params, 'contextId'),
    task: readTask(params['task']),
    pending: list(params, 'pending').map(readCall),
    approval: text(params, 'approval'),
    // Ours say these two; others need not.
    model: text(params, 'model', ''),
    workspace: text(params, 'workspace', ''),
    clients: list(params, 'clients').map(readClient),
    seq: whole(params, 'seq'),
    ...(params['earlier'] !== undefined && { earlier: list(params, 'earlier').map(readTask) }),
  };
}

export function readTask(raw: unknown): Task {
  const event = v03.decodeEvent(raw);
  if (event.kind !== 'task') throw wrong('something that is no task');
  return event;
}

function readCall(raw: unknown): ToolCall {
  const call = ToolCall.safeParse(raw);
  if (!call.success) throw wrong('a tool call that is none');
  return call.data;
}

export function readClient(raw: unknown): LiveClient {
  const client = fields(raw, 'a client');
  const kind = text(client, 'kind');
  if (kind !== 'terminal' && kind !== 'a2a' && kind !== 'acp') throw wrong(`the kind ${kind}`);
  const roles = list(client, 'roles').filter(
    (role) => role === 'view' || role === 'prompt' || role === 'approve',
  );
  return { id: text(client, 'id'), name: text(client, 'name'), kind, roles };
}

function readQueued(raw: unknown): QueuedPrompt {
  const queued = fields(raw, 'a prompt');
  return { text: text(queued, 'text'), from: text(queued, 'from') };
}

export function fields(raw: unknown, what: string): Fields {
  if (isObject(raw)) return raw;
  throw wrong(`${what} that is no object`);
}

export function list(from: Fields, key: string): readonly unknown[] {
  const value = from[key];
  if (Array.isArray(value)) return value;
  throw wrong(`no ${key}`);
}

function text(from: Fields, key: string, otherwise?: string): string {
  const value = from[key] ?? otherwise;
  if (typeof value === 'string') return value;
  throw wrong(`no ${key}`);
}

function whole(from: Fields, key: string): number {
  const value = from[key];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw wrong(`no ${key}`);
}

function json(frame: string): unknown {
  try {
    return JSON.parse(frame);
  } catch {
    throw wrong('what is no JSON');
  }
}

function wrong(what: string): A2AError {
  return new A2AError('invalidAgentResponse', `The live session sent ${what}`);
}
