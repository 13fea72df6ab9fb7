/** Decodes the frames of a live session: JSON-RPC responses and notifications. */
import * as z from 'zod';
import { isObject } from '../../base/index.ts';
import { SessionUsage, ToolCall } from '../../protocol/development-tool/index.ts';
import { A2AError, v03 } from '../../protocol/index.ts';
import { LIVE_ROLES, type LiveClient, type LiveItem } from './session.ts';

export type LiveFrame =
  | { readonly kind: 'item'; readonly item: LiveItem; readonly self?: LiveClient | undefined }
  | { readonly kind: 'response'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: number | undefined; readonly error: A2AError }
  /** A notification that this client does not know. It is ignored. */
  | { readonly kind: 'unknown' };

const Seq = z.int().min(0);
const Optional = z
  .string()
  .nullish()
  .transform((text) => text ?? '');
const Task = z.unknown().transform((raw) => {
  const event = v03.decodeEvent(raw);
  if (event.kind !== 'task') throw invalid('task');
  return event;
});
/** Accepts an array of roles, and drops the roles that this client does not know. */
export const Roles = z
  .array(z.unknown())
  .transform((roles) => LIVE_ROLES.filter((role) => roles.includes(role)));
const Client = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.enum(['terminal', 'a2a', 'acp']),
  roles: Roles,
  connected: z.boolean().optional(),
  token: z.string().optional(),
});
const Clients = z.object({ clients: z.array(Client), self: Client.optional() });
const Files = z.object({ files: z.array(z.string()) });
const Snapshot = Clients.extend({
  taskId: z.string(),
  contextId: z.string(),
  task: Task,
  pending: z.array(ToolCall),
  approval: z.string(),
  // Servers other than Parley may omit these three fields.
  model: Optional,
  workspace: Optional,
  usage: SessionUsage.optional(),
  seq: Seq,
  omitted: Seq.optional(),
  earlier: z.array(Task).optional(),
});
const Event = z.object({
  taskId: z.string(),
  seq: Seq,
  event: z.unknown().transform((raw) => v03.decodeEvent(raw)),
});
const Presence = z.object({
  clients: z.array(Client),
  queued: z.array(z.object({ text: z.string(), from: z.string() })),
  commands: z.number().optional(),
});

/** Decodes a frame. Throws `invalidAgentResponse` if it is invalid. */
export function decodeFrame(text: string): LiveFrame {
  const { method, params = {}, id, result, error } = jsonObject(text);
  if (typeof method === 'string') return notification(method, params);
  const number = typeof id === 'number' ? id : undefined;
  if (isObject(error)) return { kind: 'error', id: number, error: v03.decodeError(error) };
  if (number === undefined) throw invalid('response: it has no id');
  return { kind: 'response', id: number, result };
}

function notification(method: string, params: unknown): LiveFrame {
  switch (method) {
    case 'session/snapshot': {
      const { self, ...snapshot } = decode(Snapshot, params, method);
      return { kind: 'item', item: { kind: 'snapshot', snapshot }, self };
    }
    case 'tasks/event':
      return { kind: 'item', item: { kind: 'event', ...decode(Event, params, method) } };
    case 'session/presence':
      return { kind: 'item', item: { kind: 'presence', ...decode(Presence, params, method) } };
    default:
      return { kind: 'unknown' };
  }
}

/** Decodes the task in the response to `message/send`. */
export function decodeTask(raw: unknown) {
  return decode(Task, raw, 'task');
}

/** Decodes the response to `session/clients`. */
export function decodeClients(raw: unknown) {
  return decode(Clients, raw, 'session/clients');
}

/** Decodes the response to `session/files`. */
export function decodeFiles(raw: unknown): readonly string[] {
  return decode(Files, raw, 'session/files').files;
}

function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // The error is thrown below.
  }
  throw invalid('frame: expected a JSON object');
}

function decode<T>(schema: z.ZodType<T>, raw: unknown, what: string): T {
  const { data, error } = schema.safeParse(raw);
  if (!error) return data;
  const [issue] = error.issues;
  throw invalid(`${what}: ${issue?.path.join('.')} ${issue?.message}`);
}

function invalid(what: string): A2AError {
  return new A2AError('invalidAgentResponse', `The live session sent an invalid ${what}`);
}
