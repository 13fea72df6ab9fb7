/** `parley attach`: somebody's live session in this terminal, over its WebSocket. The same screens, another place. */
import path from 'node:path';
import { ConnectionError } from '../../client/index.ts';
import { type LiveSession, joinLive } from '../../live/client/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { defineCommand } from '../program/command.ts';
import { dataFolder } from '../program/data-folder.ts';
import { EXIT, ExitError, usageError } from '../program/exit.ts';
import { createLog, LOG_FILE } from '../program/log.ts';
import { note, word } from '../program/terminal.ts';
import { chosenTheme, THEME_FLAG } from '../program/theme.ts';
import { untilEnd } from '../program/until-end.ts';

export default defineCommand({
  name: 'attach',
  operands: ['URL'],
  about:
    'Joins a session that somebody has opened with parley --a2a-port, and shows it as they see it. Prompts and answers count there, as far as the token allows.',
  flags: {
    token: { type: 'string', value: 'T', help: 'The token, where the session wants one.' },
    name: { type: 'string', value: 'N', help: 'What the others see; the token has its own name.' },
    plain: {
      type: 'boolean',
      help: 'Line by line, without frames and redrawing: for screen readers.',
    },
    theme: THEME_FLAG,
  },
  examples: [
    'parley attach http://localhost:1234',
    'parley attach http://desk.example:1234 --token s3cret',
  ],

  async run({ values, operands: [url = ''], environment }) {
    if (!values.plain && !(process.stdin.isTTY && process.stdout.isTTY)) {
      throw usageError(
        'there is no terminal here: parley attach --plain reads and writes lines, parley send URL "TEXT" sends one message',
      );
    }
    const folder = dataFolder(environment);
    const log = createLog(environment, path.join(folder, LOG_FILE));
    const theme = await chosenTheme(values.theme, environment);
    const { token, name = defaultName(environment) } = values;
    const session = await join(url, token, name);
    const end = untilEnd(log, () => session.close(), { interrupts: !values.plain });
    const [{ startTui }, { openHistory }, { personsEditor }] = await Promise.all([
      import('../../tui/index.ts'),
      import('../coder/prompt-history.ts'),
      import('../program/editor.ts'),
    ]);
    const reason = await startTui(session, {
      plain: values.plain,
      theme,
      attachedTo: url,
      history: openHistory(folder),
      editor: personsEditor(environment),
      environment,
    });
    await session.close();
    await log.flush();
    if (end.code !== undefined) return end.code;
    if (reason === 'ended') note('The session is over, or cannot be reached any more.');
    return EXIT.done;
  },
});

async function join(
  url: string,
  token: string | undefined,
  name: string | undefined,
): Promise<LiveSession> {
  try {
    return await joinLive(url, { token, name });
  } catch (error) {
    if (error instanceof TypeError) throw usageError(error.message, { cause: error });
    if (error instanceof A2AError && error.kind === 'unauthenticated') {
      const what =
        token === undefined ? 'wants a token: add --token T' : 'does not know this token';
      throw new ExitError(EXIT.failed, `the session at ${word(url)} ${what}`, { cause: error });
    }
    if (error instanceof ConnectionError && error.reason === 'unreachable') {
      throw new ExitError(
        EXIT.unreachable,
        `${word(error.message)}: is parley --a2a-port running there, and the address right?`,
        { cause: error },
      );
    }
    throw error;
  }
}

function defaultName(environment: Readonly<Record<string, string | undefined>>) {
  return environment['USER'] || environment['USERNAME'] || undefined;
}
