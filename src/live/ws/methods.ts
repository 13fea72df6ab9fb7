/** The methods on `/ws`, with the names of A2A 0.3 and of the development-tool extension. */
import {
  ExecuteSlashCommandRequest,
  ToolCallConfirmation,
} from '../../protocol/development-tool/index.ts';
import { A2AError, parseWith, type Task } from '../../protocol/index.ts';
import type { Live } from '../hub.ts';
import type { Member } from '../member.ts';
import { WIRE } from './frames.ts';

/** The key in the task's metadata that marks the response to a queued prompt. */
const QUEUED_KEY = 'parley.queued';

export interface MethodContext {
  readonly live: Live;
  readonly member: Member;
}

type Method = (params: unknown, context: MethodContext) => Promise<unknown>;

/** Handles a message like a non-blocking `message/send`. The results are events that all clients receive. */
const send: Method = async (raw, { live, member }) => {
  const { message, configuration } = WIRE.decodeParams('sendMessage', raw);
  const { taskId: named, contextId } = message;
  if (message.role !== 'user') {
    throw new A2AError('invalidParams', 'message.role: must be user');
  }
  if (
    (named !== undefined && named !== live.taskId) ||
    (contextId !== undefined && contextId !== live.contextId)
  ) {
    const { taskId } = live;
    const text = `This connection belongs to the live session, whose task is ${taskId}`;
    throw new A2AError('unsupportedOperation', text, { info: { taskId } });
  }
  const { queued, taskId } = await member.send(message);
  const { historyLength = 0 } = configuration ?? {};
  const task = await live.handler.getTask({ id: taskId, historyLength }, member.call);
  return encode(queued ? { ...task, metadata: { ...task.metadata, [QUEUED_KEY]: true } } : task);
};

export const LIVE_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['message/send', send],
  ['message/stream', send],
  [
    'session/confirm',
    async (params, { member }) => {
      await member.confirm(parseWith(ToolCallConfirmation, params ?? {}));
      return { resolved: true };
    },
  ],
  [
    'tasks/get',
    async (params, { live, member }) =>
      encode(await live.handler.getTask(WIRE.decodeParams('getTask', params), member.call)),
  ],
  [
    'tasks/cancel',
    async (params, { live, member }) => {
      const { handler } = live;
      const asked = WIRE.decodeParams('cancelTask', params);
      member.require('prompt');
      if (asked.id !== live.taskId) return encode(await handler.cancelTask(asked, member.call));
      const info = { taskId: asked.id };
      if (!(await member.stop())) {
        throw new A2AError('taskNotCancelable', 'No turn is running', { info });
      }
      return encode(await handler.getTask({ id: asked.id, historyLength: 0 }, member.call));
    },
  ],
  ['commands/get', async (_params, { member }) => ({ commands: await member.commands() })],
  [
    'command/execute',
    (params, { member }) => member.execute(parseWith(ExecuteSlashCommandRequest, params ?? {})),
  ],
  [
    'session/clients',
    async (_params, { member }) => ({ clients: await member.clients(), self: member.self }),
  ],
]);

function encode(task: Task): unknown {
  return WIRE.encodeResult('getTask', task);
}

/** Runs a method. Throws `methodNotFound` for an unknown method. */
export async function callMethod(
  name: string,
  params: unknown,
  context: MethodContext,
): Promise<unknown> {
  const method = LIVE_METHODS.get(name);
  if (!method) throw new A2AError('methodNotFound', 'Unknown method for a live session');
  return method(params, context);
}
