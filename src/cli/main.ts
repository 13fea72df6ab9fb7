/**
 * The program: picks the command, and turns whatever happens into an exit code and at most one line. Each command is
 * loaded when it is asked for, so that none pays for the others.
 */
import { nearestNames } from '../base/index.ts';
import type { Command } from './program/command.ts';
import { EXIT, ExitError, usageError } from './program/exit.ts';
import { listenForInterrupt } from './program/interrupt.ts';
import { bold, complain, dim, flushed, say } from './program/terminal.ts';
import { VERSION } from './program/product.ts';

interface Entry {
  readonly operands: string;
  readonly about: string;
  load(): Promise<{ readonly default: Command }>;
}

const COMMANDS: Readonly<Record<string, Entry>> = {
  attach: {
    operands: 'URL',
    about: "Join somebody's session in this terminal",
    load: () => import('./commands/attach.ts'),
  },
  acp: {
    operands: '',
    about: 'Be the agent of an editor, over ACP on standard input and output',
    load: () => import('./commands/acp.ts'),
  },
  serve: {
    operands: '',
    about: 'Serve the coding agent, or another one, over A2A',
    load: () => import('./commands/serve.ts'),
  },
  gateway: {
    operands: '',
    about: 'Serve models and agents behind one endpoint, with keys',
    load: () => import('./commands/gateway.ts'),
  },
  keys: {
    operands: 'ACTION',
    about: 'Make, list and withdraw the keys of a gateway',
    load: () => import('./commands/keys.ts'),
  },
  send: {
    operands: 'URL [TEXT]',
    about: 'Send a message to an agent and print its answer',
    load: () => import('./commands/send.ts'),
  },
  watch: {
    operands: 'URL TASK',
    about: 'Follow a task',
    load: () => import('./commands/watch.ts'),
  },
  get: {
    operands: 'URL TASK',
    about: 'Show a task',
    load: () => import('./commands/get.ts'),
  },
  list: {
    operands: 'URL',
    about: 'List the tasks',
    load: () => import('./commands/list.ts'),
  },
  cancel: {
    operands: 'URL TASK',
    about: 'Cancel a task',
    load: () => import('./commands/cancel.ts'),
  },
  card: {
    operands: 'URL',
    about: 'Show what an agent says of itself, and check it',
    load: () => import('./commands/card.ts'),
  },
  sessions: {
    operands: '',
    about: 'List the sessions of the coding agent',
    load: () => import('./commands/sessions.ts'),
  },
  export: {
    operands: 'SESSION',
    about: 'Print a session, as Markdown or JSON',
    load: () => import('./commands/export.ts'),
  },
  trust: {
    operands: '[DIR]',
    about: "Let a workspace's own settings count",
    load: () => import('./commands/trust.ts'),
  },
  doctor: {
    operands: '',
    about: 'Say what is wrong with the set-up of this machine',
    load: () => import('./commands/doctor.ts'),
  },
};

async function run(args: readonly string[]): Promise<number> {
  const [first] = args;
  if (first === '--version' || first === '-v') {
    say(VERSION);
    return EXIT.done;
  }
  if (first === '--help' || first === '-h' || first === 'help') {
    process.stdout.write(help());
    return EXIT.done;
  }
  if (first === undefined || first.startsWith('-')) {
    const { default: command } = await (hasPrompt(args)
      ? import('./commands/prompt.ts')
      : import('./commands/terminal-ui.ts'));
    return command(args, process.env);
  }
  const entry = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
  if (!entry) {
    const [near] = nearestNames(first, Object.keys(COMMANDS));
    const hint = near === undefined ? '' : `did you mean parley ${near}? `;
    throw usageError(`unknown command "${first}": ${hint}parley --help lists them`);
  }
  const { default: command } = await entry.load();
  return command(args.slice(1), process.env);
}

/** Without one it is a person who is to be talked with. */
function hasPrompt(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const flags = end < 0 ? args : args.slice(0, end);
  return (
    Boolean(process.env['PARLEY_PROMPT']) || flags.some((arg) => /^(-p|--prompt(=|$))/.test(arg))
  );
}

function help(): string {
  const rows = Object.entries(COMMANDS).map(([name, { operands, about }]): [string, string] => [
    `parley ${name} ${operands}`.trimEnd(),
    about,
  ]);
  const all: [string, string][] = [
    ['parley', 'Work with the coding agent in this terminal; --a2a-port N lets others join'],
    ['parley -p PROMPT', 'Do one turn of the coding agent here, without a UI'],
    ...rows,
  ];
  const width = Math.max(...all.map(([left]) => left.length));
  return [
    `${bold('parley')} ${VERSION}: agents talking to agents, and people joining in, over the A2A protocol`,
    '',
    bold('Commands'),
    ...all.map(([left, right]) => `  ${left.padEnd(width)}  ${dim(right)}`),
    '',
    bold('Examples'),
    '  parley --a2a-port 1234',
    '  parley attach http://localhost:1234',
    '  parley serve &',
    '  parley send http://127.0.0.1:41242 "list src"',
    '',
    dim(
      'parley COMMAND --help shows the flags of a command, with examples; so do parley -p --help and parley --plain --help.',
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
const code = await run(process.argv.slice(2)).catch(report);
await flushed();
process.exit(code);
