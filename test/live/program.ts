/** The program on a pseudo-terminal, with a scripted model and folders of its own. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { ticketIn } from '../../src/live/client/index.ts';
import { makePlace, type Place } from '../coder/support.ts';
import { openTerminal, type Terminal, type TerminalOptions } from '../tui/terminal.ts';

const TICKET_LENGTH = 15;
const MAIN = 'src/cli/main.ts';
export const ENTER = '\r';
export const CTRL_C = '\u0003';
/** The field in which prompts are typed: the program is there. */
export const READY = /Ask for something/;

export interface ProgramOptions extends TerminalOptions {
  readonly script?: readonly ScriptedResponse[];
  readonly place?: Place;
  readonly args?: readonly string[];
}

/** What tests must not take from whoever runs them. */
const NO_KEYS = {
  GEMINI_API_KEY: '',
  GOOGLE_API_KEY: '',
  ANTHROPIC_API_KEY: '',
  OPENAI_API_KEY: '',
};

/** `parley` with these arguments, in a place of its own. */
export function startProgram(
  t: TestContext,
  args: readonly string[],
  { place = makePlace(t), environment, ...more }: ProgramOptions = {},
): Terminal {
  const terminal = openTerminal(MAIN, args, {
    ...more,
    environment: {
      ...NO_KEYS,
      PARLEY_HOME: place.home,
      XDG_CONFIG_HOME: join(place.home, 'config'),
      ...environment,
    },
  });
  t.after(() => terminal.close());
  return terminal;
}

export interface Program extends Place {
  readonly terminal: Terminal;
  readonly url: string;
  readonly ws: string;
  /** Types a line. */
  readonly say: (text: string) => void;
}

/** `parley --a2a-port 0` with a script, once it has said where it listens. */
export async function startShared(t: TestContext, options: ProgramOptions = {}): Promise<Program> {
  const { script = [], args = [], place = makePlace(t), ...more } = options;
  const file = join(place.home, 'script.json');
  writeFileSync(file, JSON.stringify(script));
  const terminal = startProgram(
    t,
    ['--a2a-port', '0', '--workspace', place.workspace, '--model', `scripted:${file}`, ...args],
    { ...more, place },
  );
  const port = await terminal.until('the port', () => /A2A :(\d+)/.exec(terminal.visible())?.[1]);
  const host = `127.0.0.1:${port}`;
  return {
    ...place,
    terminal,
    url: `http://${host}`,
    ws: `ws://${host}/ws`,
    say: (text) => terminal.type(`${text}${ENTER}`),
  };
}

/** Waits for the latest link on the screen. It may be wrapped. */
export function linkOn(terminal: Terminal): Promise<string> {
  return terminal.until('a link', () => {
    const [link] = terminal.visible().match(/^https?:\S+#ticket=\S+\n?\S*/m) ?? [];
    const url = link?.replaceAll('\n', '');
    return (
      (ticketIn(url ?? '')?.length ?? 0) >= TICKET_LENGTH &&
      url?.slice(0, url.indexOf('=') + 1 + TICKET_LENGTH)
    );
  });
}
