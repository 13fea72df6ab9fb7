// Runs the terminal UI on a session that is only played: node … test/tui/run.ts [--plain] [--theme T] [--history N]
// What the prompts do is in demo.ts. After `--next`, the arguments of another run follow, which starts with an empty
// screen when this one is left.
import { parseArgs } from 'node:util';
import type { OwnerNotice } from '../../src/live/client/index.ts';
import { EMPTY, line, span } from '../../src/display/index.ts';
import { startTui } from '../../src/tui/index.ts';
import { COMMANDS, play } from './demo.ts';
import { PHONE, ScriptedSession, TERMINAL } from './scripted-session.ts';

const OPTIONS = {
  plain: { type: 'boolean' },
  theme: { type: 'string' },
  /** So many messages have been said before. */
  history: { type: 'string', default: '0' },
  model: { type: 'string' },
  'a2a-port': { type: 'string' },
  'attached-to': { type: 'string' },
  pause: { type: 'string', default: '5' },
  /** Another client answers what is asked. */
  phone: { type: 'boolean' },
  'no-editor': { type: 'boolean' },
  /** An MCP server is unavailable, and the model is rate limited. */
  trouble: { type: 'boolean' },
  /** What every prompt does, instead of what it says. */
  play: { type: 'string' },
} as const;

const UNAVAILABLE: OwnerNotice = {
  kind: 'notice',
  level: 'error',
  text: 'The MCP server tracker is unavailable: spawn tracker-mcp ENOENT. Its tools are missing. Check mcpServers.tracker in settings.json. /mcp shows its state.',
};

function rateLimited(): OwnerNotice {
  const text =
    'google:gemini-3-pro is rate limited (429): Resource has been exhausted (e.g. check quota): try again in 41 s';
  return { kind: 'retry', text, retryAt: Date.now() + 41_000 };
}

async function run(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const attached = values['attached-to'] !== undefined;
  const listeners = new Set<(notice: OwnerNotice) => void>();
  const session = new ScriptedSession({
    commands: COMMANDS,
    ...(attached && { self: { ...PHONE, id: 'a2a-3', name: 'laptop' } }),
    ...(values.model !== undefined && { model: values.model }),
    onPrompt: async (live, text) => {
      const played = play(live, values.play ?? text, Number(values.pause));
      if (values.trouble === true) for (const tell of listeners) tell(rateLimited());
      await played;
    },
  });
  if (attached) await play(session, 'story');
  for (let count = 0; count < Number(values.history); count++) {
    if (count % 2 === 0) session.heard(`Question ${count}`, TERMINAL);
    else session.say(`Answer ${count}, with \`code\` in it.`);
  }
  if (values.phone === true) session.present([TERMINAL, PHONE]);

  await startTui(session, {
    plain: values.plain,
    theme: values.theme,
    a2aPort: values['a2a-port'] === undefined ? undefined : Number(values['a2a-port']),
    attachedTo: values['attached-to'],
    notices: (listener) => {
      listeners.add(listener);
      if (values.trouble === true) listener(UNAVAILABLE);
      return () => void listeners.delete(listener);
    },
    history: { entries: ['an earlier prompt', 'another one'], add: () => {} },
    files: async (prefix) =>
      ['README.md', 'src/', 'src/server.ts', 'src/state.ts', 'package.json'].filter((path) =>
        path.startsWith(prefix),
      ),
    shell: async (command, { signal, onOutput }) => {
      const output = Array.from({ length: 12 }, (_, n) => `${command}: line ${n + 1}\n`).join('');
      onOutput(output);
      if (command.startsWith('wait'))
        await new Promise((end) => signal.addEventListener('abort', end));
      return { output, code: 0 };
    },
    checkpoints: {
      list: async () => [
        { id: 'c2', title: 'before: Edit src/server.ts', when: '14:03' },
        { id: 'c1', title: 'before: Run npm install', when: 'yesterday 09:30' },
      ],
      changes: async (id) => [
        line(`One file changes (${id}):`),
        [span('  src/server.ts  '), span('changes', 'warning')],
        EMPTY,
        line('-  server.listen(port, host);', 'removed'),
        line('+  server.listen(port);', 'added'),
      ],
    },
    ...(values['no-editor'] !== true && {
      editor: async (text: string) => text.replace('127.0.0.1', '::1'),
    }),
    onExit: (reason) => process.stdout.write(`left: ${reason}\n`),
  });
}

const CLEAR = '\u001b[2J\u001b[3J\u001b[H';
const runs: string[][] = [[]];
for (const each of process.argv.slice(2)) {
  if (each === '--next') runs.push([]);
  else runs.at(-1)?.push(each);
}
for (const [index, args] of runs.entries()) {
  if (index > 0) process.stdout.write(CLEAR);
  await run(args);
}
