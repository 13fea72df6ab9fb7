/** `parley attach`: shows a live session of another process in this terminal, over its WebSocket. */
import path from 'node:path';
import type { NotifySettings } from '../../coder/settings/index.ts';
import { ConnectionError } from '../../client/index.ts';
import {
  exchangeTicket,
  findLive,
  joinLive,
  type LiveSession,
  ticketIn,
} from '../../live/client/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { terminalSession } from '../coder/terminal-session.ts';
import { defineCommand } from '../program/command.ts';
import { dataFolder } from '../program/folders.ts';
import { EXIT, ExitError, usageError } from '../program/exit.ts';
import { type Environment, option } from '../program/flags.ts';
import { createLog, LOG_FILE } from '../program/log.ts';
import { onProcessEnd } from '../program/process-end.ts';
import { note, word } from '../program/terminal.ts';
import { chosenTheme, PLAIN_FLAG, THEME_FLAG } from '../program/theme.ts';

export default defineCommand({
  operands: ['URL'],
  about:
    'Joins a session that was opened with parley --a2a-port or /remote and shows it in this terminal. You can send prompts and answer questions if your token allows it. The link that /remote shows also works as the URL.',
  flags: {
    token: {
      ...option(
        'T',
        'The token, if the session requires one. PARLEY_TOKEN is not used here, because it is the token that parley serve requires from its clients.',
      ),
      variable: false,
    },
    name: option(
      'N',
      "The name that others see. If the token has a name, others see the token's name.",
    ),
    plain: PLAIN_FLAG,
    theme: THEME_FLAG,
  },
  examples: [
    'parley attach http://localhost:1234',
    'parley attach http://desk.example:1234 --token s3cret',
    "parley attach 'http://192.168.1.23:1234/#ticket=…'",
  ],

  async run({ values, operands: [url = ''], environment }) {
    if (!values.plain && !(process.stdin.isTTY && process.stdout.isTTY)) {
      throw usageError(
        'no terminal: use parley attach --plain to read and write lines, or parley send URL "TEXT" to send one message',
      );
    }
    const folder = dataFolder(environment);
    const log = createLog(environment, path.join(folder, LOG_FILE));
    const theme = await chosenTheme(values.theme, environment);
    const { token, name = defaultName(environment) } = values;
    const session = await join(url, token, name);
    const end = onProcessEnd(log, () => session.close(), {
      terminal: true,
      interrupts: !values.plain,
    });
    let alerts: NonNullable<NotifySettings['terminal']> = 'unfocused';
    const loaded = import('../program/settings.ts').then(async ({ ownSettings }) => {
      alerts = (await ownSettings(environment)).notify?.terminal ?? alerts;
    });
    // Errors in the settings are ignored here. The commands that run the agent report them.
    loaded.catch(() => undefined);
    const [{ startTui }, { openHistory }, { personsEditor }] = await Promise.all([
      import('../../tui/index.ts'),
      import('../coder/prompt-history.ts'),
      import('../program/editor.ts'),
    ]);
    const reason = await startTui(terminalSession(session), {
      plain: values.plain,
      theme,
      attachedTo: url.replace(/#.*/, ''),
      history: openHistory(folder),
      editor: personsEditor(environment),
      environment,
      alerts: { terminal: () => alerts },
    });
    await session.close();
    await log.flush();
    if (end.code !== undefined) return end.code;
    if (reason === 'ended') note('The session has ended or is no longer reachable.');
    return EXIT.done;
  },
});

async function join(
  url: string,
  token: string | undefined,
  name: string | undefined,
): Promise<LiveSession> {
  const ticket = ticketIn(url);
  try {
    const issued =
      token ??
      (ticket === undefined ? undefined : (await exchangeTicket(url, ticket, { name })).token);
    return await joinLive(await findLive(url), { token: issued, name });
  } catch (error) {
    if (error instanceof TypeError) throw usageError(error.message, { cause: error });
    if (error instanceof A2AError && error.kind === 'unauthenticated') {
      if (ticket !== undefined && token === undefined) {
        throw new ExitError(EXIT.failed, word(error.message), { cause: error });
      }
      const what =
        token === undefined ? 'requires a token: add --token T' : 'does not accept this token';
      throw new ExitError(EXIT.failed, `the session at ${word(url)} ${what}`, { cause: error });
    }
    if (error instanceof ConnectionError && error.reason === 'unreachable') {
      throw new ExitError(
        EXIT.unreachable,
        `${word(error.message)}: is parley --a2a-port running there, and is the address right?`,
        { cause: error },
      );
    }
    throw error;
  }
}

function defaultName(environment: Environment): string | undefined {
  return environment['USER'] || environment['USERNAME'] || undefined;
}
