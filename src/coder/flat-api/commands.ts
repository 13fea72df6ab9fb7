/** Slash commands in the flat API: asked for by name, answered with what they said. */
import { eventIn, type SlashCommand } from '../../protocol/development-tool/index.ts';
import { A2AError, isTerminal, textOf, type Call, type TaskState } from '../../protocol/index.ts';
import type { RequestHandler } from '../../tasks/index.ts';
import type { CommandService } from '../commands/service.ts';

interface FlatCommand {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly isRequired: boolean;
  }[];
  readonly subCommands: readonly FlatCommand[];
}

export function flatCommand(command: SlashCommand): FlatCommand {
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

export interface Executed {
  readonly name: string;
  readonly data: unknown;
}

/** Runs a command to its end, or until it asks something. */
export async function executeCommand(
  commands: CommandService,
  { command, args }: { readonly command: string; readonly args: readonly string[] },
  call: Call,
  handler: RequestHandler,
): Promise<Executed> {
  const { path, rest } = resolve(await commands.list(), command, args);
  const request = { command_path: path, args: rest.join(' ') };
  const started = await commands.execute(request, call, handler);
  const name = path.join(' ');
  const { execution_id: taskId, status, message = `The command ${name} did not start` } = started;
  if (status === 'FAILED_TO_START') throw new A2AError('invalidParams', message);
  const { state, text } = await outcome(taskId, call, handler);
  if (state === 'completed') return { name, data: text };
  if (state === 'input-required') return { name, data: { taskId, state, text } };
  const info = { taskId };
  if (state === undefined || !isTerminal(state)) {
    throw new A2AError('unavailable', 'The command goes on; follow its task', { info });
  }
  throw new A2AError('internal', text === '' ? `The command is ${state}` : text, { info });
}

/** The command by its path; words behind it that name commands below it belong to the path. */
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
      throw new A2AError('methodNotFound', `There is no command ${named.join(' ').slice(0, 200)}`);
    }
    if (!found) break;
    path.push(word);
    below = found.sub_commands;
  }
  return { path, rest: args.slice(path.length - named.length) };
}

interface Outcome {
  readonly state: TaskState | undefined;
  readonly text: string;
}

/** Follows the task to where it settles. */
async function outcome(id: string, call: Call, handler: RequestHandler): Promise<Outcome> {
  const stream = await handler.subscribe({ id, after: 0 }, call);
  const leave = (): void => stream.close();
  call.signal?.addEventListener('abort', leave, { once: true });
  const said: string[] = [];
  let state: TaskState | undefined;
  try {
    for await (const { event } of stream) {
      if (event.kind !== 'status-update') continue;
      const { message } = event.status;
      state = event.status.state;
      if (message?.role !== 'agent') continue;
      const isText = eventIn(event.metadata)?.kind === 'TEXT_CONTENT';
      // The last status repeats what was said; where nothing was, it is all there is.
      if (isText || (event.final && said.length === 0)) said.push(textOf(message.parts));
    }
  } finally {
    call.signal?.removeEventListener('abort', leave);
  }
  return { state, text: said.join('') };
}
