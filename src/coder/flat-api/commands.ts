/** Slash commands in the flat API: a client runs a command by its name and gets the output as text. */
import type * as z from 'zod';
import type { JsonObject } from '../../base/index.ts';
import { readStatus, type SlashCommand } from '../../protocol/development-tool/index.ts';
import { A2AError, isTerminal, type Call, type TaskState } from '../../protocol/index.ts';
import type { RequestHandler } from '../../tasks/index.ts';
import type { CommandService } from '../commands/service.ts';
import { commandPlace, type ExecuteCommand } from './bodies.ts';

export function flatCommand(command: SlashCommand): JsonObject {
  return {
    name: command.name,
    description: command.description,
    arguments: command.arguments.map(({ name, description, is_required }) => ({
      name,
      description,
      isRequired: is_required,
    })),
    subCommands: command.sub_commands.map(flatCommand),
  };
}

/**
 * Runs a command until it completes or asks a question, and returns its output. Throws if the command does not start or
 * ends in another state.
 */
export async function executeCommand(
  commands: CommandService,
  asked: z.infer<typeof ExecuteCommand>,
  call: Call,
  handler: RequestHandler,
): Promise<{ readonly name: string; readonly data: unknown }> {
  const place = commandPlace(asked);
  const { path, rest } = resolve(await commands.list(place, call), asked.command, asked.args);
  const request = { command_path: path, args: rest.join(' '), ...place };
  const started = await commands.execute(request, call, handler);
  const name = path.join(' ');
  const { execution_id: taskId, status, message = `The command ${name} did not start` } = started;
  if (status === 'FAILED_TO_START') throw new A2AError('invalidParams', message);
  const { state, text } = await outcome(taskId, call, handler);
  if (state === 'completed') return { name, data: text };
  if (state === 'input-required') return { name, data: { taskId, state, text } };
  const info = { taskId };
  if (state === undefined || !isTerminal(state)) {
    throw new A2AError('unavailable', 'The command is still running; follow its task', { info });
  }
  throw new A2AError('internal', text === '' ? `The command ended in state ${state}` : text, {
    info,
  });
}

/** Finds the command. If the first arguments are names of subcommands, they become part of the command's path. */
function resolve(
  commands: readonly SlashCommand[],
  command: string,
  args: readonly string[],
): { path: string[]; rest: readonly string[] } {
  const named = command.trim().replace(/^\//, '').split(/\s+/);
  const path: string[] = [];
  let below = commands;
  for (const [at, word] of [...named, ...args].entries()) {
    const found = below.find(({ name }) => name === word);
    if (!found && at < named.length) {
      throw new A2AError('methodNotFound', `Unknown command ${named.join(' ').slice(0, 200)}`);
    }
    if (!found) break;
    path.push(word);
    below = found.sub_commands;
  }
  return { path, rest: args.slice(path.length - named.length) };
}

/**
 * Follows the task until it ends or waits for an answer, or until the caller leaves. Returns its last state and its
 * text.
 */
async function outcome(id: string, call: Call, handler: RequestHandler) {
  const stream = await handler.subscribe({ id, after: 0 }, call);
  const leave = (): void => stream.close();
  call.signal?.addEventListener('abort', leave, { once: true });
  const said: string[] = [];
  let state: TaskState | undefined;
  try {
    for await (const { event } of stream) {
      if (event.kind !== 'status-update') continue;
      state = event.status.state;
      for (const fact of readStatus(event).facts) {
        // The text of the last state repeats the answer. It is needed only if no answer was streamed.
        if (fact.kind === 'text' || (fact.kind === 'state' && event.final && said.length === 0)) {
          said.push(fact.text);
        }
      }
    }
  } finally {
    call.signal?.removeEventListener('abort', leave);
  }
  return { state, text: said.join('') };
}
