/**
 * The main program. Runs the command given in the arguments. If it fails, prints the reason and ends with an exit code.
 * The module of a command is loaded only when the command runs, which makes the start faster.
 */
import { absoluteFolders } from '../base/files/index.ts';
import { type CommandTable, commandRows, flagRows, runFrom } from './program/command.ts';
import { EXIT, ExitError, usageError } from './program/exit.ts';
import { parseFlags } from './program/flags.ts';
import { endIfUnwritten, listenForInterrupt } from './program/process-end.ts';
import { bold, complain, dim, flushed, say } from './program/terminal.ts';
import { VERSION } from './program/product.ts';

const COMMANDS: CommandTable = {
  attach: {
    operands: 'URL',
    about: 'Join a live session that runs in another terminal',
    load: async () => (await import('./commands/attach.ts')).default,
  },
  acp: {
    about:
      'Run the coding agent for an editor, over the Agent Client Protocol on standard input and output',
    load: async () => (await import('./commands/acp.ts')).default,
  },
  serve: {
    about: 'Serve the coding agent, or another agent, over A2A',
    load: async () => (await import('./commands/serve.ts')).default,
  },
  gateway: {
    about: 'Serve models and agents behind one endpoint, with API keys',
    load: async () => (await import('./commands/gateway.ts')).default,
  },
  keys: {
    operands: 'ACTION',
    about: 'Create, list, change, rotate and revoke the API keys of a gateway',
    load: async () => (await import('./commands/keys.ts')).default,
  },
  send: {
    operands: 'URL [TEXT]',
    about: 'Send a message to an agent and print its answer',
    load: async () => (await import('./commands/send.ts')).default,
  },
  watch: {
    operands: 'URL TASK',
    about: 'Follow a task',
    load: async () => (await import('./commands/watch.ts')).default,
  },
  get: {
    operands: 'URL TASK',
    about: 'Show a task',
    load: async () => (await import('./commands/get.ts')).default,
  },
  list: {
    operands: 'URL',
    about: 'List your tasks',
    load: async () => (await import('./commands/list.ts')).default,
  },
  cancel: {
    operands: 'URL TASK',
    about: 'Cancel a task',
    load: async () => (await import('./commands/cancel.ts')).default,
  },
  push: {
    operands: 'list|retry URL',
    about: 'List the events that webhooks did not accept, or send them again',
    load: async () => (await import('./commands/push.ts')).default,
  },
  db: {
    operands: 'migrate|status|import URL',
    about: 'Create or show the tables in PostgreSQL, or copy tasks from SQLite',
    load: async () => (await import('./commands/db.ts')).default,
  },
  card: {
    operands: 'URL',
    about: "Show an agent's card, or check it with --verify",
    load: async () => (await import('./commands/card.ts')).default,
  },
  inspect: {
    operands: 'URL',
    about:
      'Open the inspector in a browser, to check an agent and its card, and to send requests to the agent',
    load: async () => (await import('./commands/inspect.ts')).default,
  },
  sessions: {
    about: 'List the sessions of the coding agent',
    load: async () => (await import('./commands/sessions.ts')).default,
  },
  export: {
    operands: 'SESSION',
    about: 'Print a session as Markdown or JSON',
    load: async () => (await import('./commands/export.ts')).default,
  },
  trust: {
    operands: '[DIR]',
    about: 'Trust the settings, commands, helpers and skills that a workspace contains',
    load: async () => (await import('./commands/trust.ts')).default,
  },
  mcp: {
    operands: 'login|logout NAME',
    about: 'Log in to an MCP server that is in settings.json, or log out',
    load: async () => (await import('./commands/mcp.ts')).default,
  },
  models: {
    operands: '[PROVIDER]',
    about: 'List the models that you can use, on this machine and with your API keys',
    load: async () => (await import('./commands/models.ts')).default,
  },
  doctor: {
    about: 'Check the setup of this machine',
    load: async () => (await import('./commands/doctor.ts')).default,
  },
  completion: {
    operands: 'bash|zsh|fish',
    about: 'Print the completions of commands and flags for a shell',
    load: async () => {
      const { completionCommand } = await import('./commands/completion.ts');
      return completionCommand(COMMANDS, async () => ({
        ...(await import('./commands/terminal-ui.ts')).TERMINAL_FLAGS,
        ...(await import('./commands/prompt.ts')).default.flags,
      }));
    },
  },
};

async function run(args: readonly string[]): Promise<number> {
  const [first] = args;
  if (first === '--version' || first === '-v') {
    say(VERSION);
    return EXIT.done;
  }
  if (first === '--help' || first === '-h' || first === 'help') {
    process.stdout.write(await help());
    return EXIT.done;
  }
  // The name of a command has no white space, so a text of several words is a prompt.
  if (first === undefined || first.startsWith('-') || /\s/.test(first)) {
    if (hasPrompt(args)) {
      return (await import('./commands/prompt.ts')).default('parley', args, process.env);
    }
    const { default: command, TERMINAL_FLAGS } = await import('./commands/terminal-ui.ts');
    refuseMisplaced(parseFlags('parley', TERMINAL_FLAGS, args, process.env).operands);
    return command('parley', args, process.env);
  }
  const advice =
    args.length > 1
      ? 'if this is a prompt, put it in quotes; '
      : `to send it as a prompt, write parley -- ${first}; `;
  return runFrom(COMMANDS, 'parley', args, process.env, { advice });
}

/**
 * Throws if the first operand is the name of a command. A command must come before all flags. After a flag or `--`, its
 * name would be sent to the model as a prompt.
 */
function refuseMisplaced([operand = '']: readonly string[]): void {
  if (!Object.hasOwn(COMMANDS, operand)) return;
  throw usageError(`write the command before its flags: parley ${operand} …`);
}

/** Returns whether `-p` or its environment variable is given. If not, the terminal UI starts. */
function hasPrompt(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const flags = end < 0 ? args : args.slice(0, end);
  return (
    Boolean(process.env['PARLEY_PROMPT']) || flags.some((arg) => /^(-p|--prompt(=|$))/.test(arg))
  );
}

async function help(): Promise<string> {
  const { TERMINAL_FLAGS } = await import('./commands/terminal-ui.ts');
  return [
    `${bold('parley')} ${VERSION}: agents talking to agents, and people joining in, over the A2A protocol`,
    '',
    bold('Commands'),
    ...commandRows(COMMANDS, 'parley', [
      ['parley [PROMPT]', 'Start the coding agent in this terminal, with the flags below'],
      ['parley -p PROMPT', 'Run one turn of the coding agent without a UI'],
    ]),
    '',
    bold('Flags of parley without a command'),
    ...flagRows(TERMINAL_FLAGS),
    '',
    bold('Examples'),
    '  parley "why does the test of the parser fail?"',
    '  parley --a2a-port 1234',
    '  parley attach http://localhost:1234',
    '  parley serve &',
    '  parley send http://127.0.0.1:41242 "list src"',
    '',
    dim(
      'parley COMMAND --help shows the flags of a command, and parley -p --help shows those of a single turn. In the terminal, /help lists the commands and keys.',
    ),
    '',
  ].join('\n');
}

async function report(error: unknown): Promise<number> {
  if (error instanceof ExitError) {
    complain(error.message);
    return error.code;
  }
  const { explain } = await import('./program/explain.ts');
  const { code, line } = explain(error);
  complain(line);
  return code;
}

process.stderr.on('error', () => {});
listenForInterrupt();
// Only absolute folders are kept. The program starts git, bwrap, MCP servers and other programs by name. With a
// relative folder in PATH, it could find them in the current folder, which may not be trusted.
process.env['PATH'] = absoluteFolders(process.env['PATH']);
const code = await run(process.argv.slice(2)).catch(report);
await flushed();
endIfUnwritten();
process.exit(code);
