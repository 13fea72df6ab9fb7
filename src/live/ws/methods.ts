/** The methods on `/ws`: some of A2A 0.3, those of the development-tool extension, and Parley's own (`session/…`). */
import { isObject } from '../../base/index.ts';
import {
  ExecuteSlashCommandRequest,
  GetAllSlashCommandsRequest,
  ToolCallConfirmation,
} from '../../protocol/development-tool/index.ts';
import { A2AError, parseWith, QUEUED_KEY, type Task } from '../../protocol/index.ts';
import type { Live } from '../hub.ts';
import type { Member } from '../member.ts';
import { WIRE } from './frames.ts';

export interface MethodContext {
  readonly live: Live;
  readonly member: Member;
}

/** Maximum length of the prefix of a path. */
const MAX_PREFIX = 1024;

type Method = (params: unknown, context: MethodContext) => Promise<unknown>;

/**
 * Handles `message/send` and `message/stream`. Both return the task as soon as the message is accepted or queued. All
 * clients receive the events of its turn.
 */
const send: Method = async (raw, { live, member }) => {
  const params = WIRE.decodeParams('sendMessage', raw);
  const { message, metadata, tenant } = params;
  const { queued, taskId } = await member.send({ message, metadata, tenant });
  const { historyLength = 0 } = params.configuration ?? {};
  const task = await live.handler.getTask({ id: taskId, historyLength }, member.call);
  return encode(queued ? { ...task, metadata: { ...task.metadata, [QUEUED_KEY]: true } } : task);
};

export const LIVE_METHODS: Readonly<Record<string, Method>> = {
  'message/send': send,
  'message/stream': send,
  async 'session/confirm'(params, { member }) {
    await member.confirm(parseWith(ToolCallConfirmation, params ?? {}));
    return { resolved: true };
  },
  'tasks/get': async (params, { member }) =>
    encode(await member.getTask(WIRE.decodeParams('getTask', params))),
  'tasks/cancel': async (params, { member }) =>
    encode(await member.cancelTask(WIRE.decodeParams('cancelTask', params))),
  'commands/get': async (params, { member }) => ({
    commands: await member.commands(parseWith(GetAllSlashCommandsRequest, params ?? {})),
  }),
  'command/execute': (params, { member }) =>
    member.execute(parseWith(ExecuteSlashCommandRequest, params ?? {})),
  'session/files': async (params, { member }) => ({ files: await member.files(prefixIn(params)) }),
  'session/clients': async (_params, { member }) => ({
    clients: await member.clients(),
    self: member.self,
  }),
  async 'session/revoke'(params, { member }) {
    const client = isObject(params) ? params['client'] : undefined;
    if (typeof client !== 'string') {
      throw new A2AError('invalidParams', 'client: must be the id of a client');
    }
    await member.revoke(client);
    return { revoked: true };
  },
};

function prefixIn(params: unknown): string {
  const prefix = isObject(params) ? params['prefix'] : undefined;
  if (typeof prefix === 'string' && prefix.length <= MAX_PREFIX) return prefix;
  throw new A2AError(
    'invalidParams',
    `prefix: must be a string of at most ${MAX_PREFIX} characters`,
  );
}

function encode(task: Task): unknown {
  return WIRE.encodeResult('getTask', task);
}

/** Runs a method. Throws `methodNotFound` for an unknown method. */
export async function callMethod(
  name: string,
  params: unknown,
  context: MethodContext,
): Promise<unknown> {
  const method = Object.hasOwn(LIVE_METHODS, name) ? LIVE_METHODS[name] : undefined;
  if (!method) throw new A2AError('methodNotFound', 'Unknown method for a live session');
  return method(params, context);
}
