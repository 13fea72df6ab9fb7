/**
 * Shows the session line by line, for screen readers and simple terminals. Nothing is redrawn, no information depends
 * on colours or symbols, and the terminal itself edits the input line.
 *
 * Each line of the input is a prompt or a command. While a question waits, the number of an option, `/reject REASON` or
 * `/answer TEXT` answers it. Other text is an answer only after the person has chosen the option to answer in words,
 * because the person may have begun to type it before the question appeared. Ctrl-C stops the person's own command
 * (`!`). If no such command runs, Ctrl-C cancels the turn, and a second Ctrl-C leaves.
 */
import { isWindows } from '../base/system/index.ts';
import { reasonOf } from '../base/index.ts';
import type { LiveSession } from '../live/client/index.ts';
import { hasOption, mayBeCommand, OPTION, requestId } from '../protocol/schema-free/index.ts';
import {
  nameOf,
  titleOf,
  Answers,
  isInWords,
  isBusy,
  waitingCalls,
  type SessionState,
  isQuestion,
  type CallEntry,
  EMPTY,
  line,
  type StyledLine,
  clean,
  cleanLine,
  revealsLine,
  unescapedCommand,
  unknownCommand,
} from '../display/index.ts';
import type { ExitReason, TuiOptions } from './control/options.ts';
import { Alerts } from './control/alerts.ts';
import { PersonShell } from './control/person-shell.ts';
import { runSharing } from './control/sharing.ts';
import { StateStore } from './control/store.ts';
import { Twice } from './control/twice.ts';
import { localCommand } from './input/local-commands.ts';
import { NONE } from './text/theme.ts';
import { secondsUntil } from './view/status-lines.ts';
import { entryLines } from './view/entry-lines.ts';
import { wholeRequest } from './view/request-lines.ts';
import type { View } from './view/view.ts';

/** The width is practically unlimited, because the terminal wraps long lines. */
const WIDTH = 4000;
const MAX_LINE = 100_000;
/**
 * If a question was closed without an answer from this terminal, the first number that is typed within this time does
 * not answer the next question.
 */
const REPLACED_MS = 3000;
/** How long `dropNumber` keeps the terminal in raw mode. */
const RAW_MS = 20;
const CTRL_C = '\u0003';
const HELP = `Type a request and press Enter; a backslash at the end of a line continues it.
/cancel stops the turn, /quit leaves, /help lists the session's commands.`;
const SHELL_HELP = '!COMMAND runs a command in your own shell.';
/** The commands of this display. */
const OWN_COMMANDS = ['cancel', 'quit', 'remote', 'clients'].map((name) => ({ name }));

export async function startPlain(session: LiveSession, options: TuiOptions): Promise<ExitReason> {
  const { stdin = process.stdin, stdout = process.stdout } = options;
  const renderers = await import('./view/renderers.ts');
  const abort = new AbortController();
  const done = Promise.withResolvers<ExitReason>();
  const alerts = new Alerts(options);
  const { causeOf, notices } = options;
  const store = new StateStore(() => show(store.state), { causeOf, notices, tell: alerts.tell });
  const answers = new Answers(session, {
    editor: options.editor,
    notice: (level, text) => store.dispatch({ kind: 'notice', level, text }),
    answering: () => {},
  });
  const shell = new PersonShell({
    shell: options.shell,
    running: () => {},
    ended: (call) => store.dispatch({ kind: 'own-command', call }),
  });
  const twice = new Twice((hint) => hint !== undefined && write([EMPTY, line(hint)]));
  let printed = 0;
  /** The id of the last thought that was printed before it was complete. */
  let thinking: number | undefined;
  let greeted = false;
  let busy = false;
  /** Whether an entry of the session has been finished since the last `Ready.`. */
  let unheard = false;
  /** The id of the waiting request whose question is printed, or empty if no question waits. */
  let asked = '';
  /** The id of the last request that was answered from this terminal. */
  let answered = '';
  /** The time when a question was last closed without an answer from this terminal. */
  let replacedAt = -Infinity;
  /** Whether the next line is an answer in words, because the person has chosen the option for it. */
  let awaitsWords = false;
  let unfinished = '';
  /** The retry that was printed last. */
  let retried: SessionState['retry'];
  /**
   * Resolves when all earlier texts have been handed to the session, so that texts are sent in the order in which they
   * were typed.
   */
  let handed: Promise<unknown> = Promise.resolve();
  /** The number of prompts that were sent since the last `Ready.`. */
  let awaited = 0;
  let inputEnded = false;

  function write(lines: readonly StyledLine[]): void {
    for (const each of lines) stdout.write(`${NONE.paint(each)}\n`);
  }

  function say(text: string): void {
    write(text.split('\n').map((each) => line(each)));
  }

  function show(state: SessionState): void {
    const view: View = {
      width: WIDTH,
      renderers,
      self: session.self,
      clients: state.clients,
      plain: true,
      spinner: '',
    };
    if (!greeted && state.place) {
      greeted = true;
      const mode = state.approval === '' ? '' : `, mode ${state.approval}`;
      const [folder, model] = [cleanLine(state.place.workspace), cleanLine(state.model)];
      say(`Parley in ${folder}, model ${model}${mode}.\n${HELP}`);
      if (options.shell && stdin.isTTY) say(SHELL_HELP);
    }
    for (const entry of state.log.finished.slice(printed)) {
      // A prompt that was typed at this terminal is not printed, because the terminal has already echoed it.
      const own = entry.kind === 'prompt' && nameOf(entry.from, view) === undefined;
      const isPrinted = (own && stdin.isTTY) || entry.id === thinking;
      if (!isPrinted) write(entryLines(entry, view));
      if (entry.local !== true) unheard = true;
    }
    printed = state.log.finished.length;
    // A thought is printed when it begins, because it may take long.
    const last = state.log.open.at(-1);
    if (last?.kind === 'thought' && last.id !== thinking) {
      thinking = last.id;
      write(entryLines(last, view));
    }
    if (state.retry && state.retry !== retried) {
      const seconds = secondsUntil(state.retry.retryAt, Date.now());
      say(`Retrying in ${seconds} s: ${cleanLine(state.retry.text)}`);
    }
    retried = state.retry;
    const [first] = waitingCalls(state);
    const request = first ? requestId(first.call) : '';
    // The person may still be typing the number of an option of the previous question.
    if (request !== asked && asked !== '' && asked !== answered) replacedAt = performance.now();
    if (request !== asked) awaitsWords = false;
    if (first && request !== asked) ask(first, view);
    asked = request;
    busy = isBusy(state);
    if (!busy && !first && unheard) {
      awaited = 0;
      unheard = false;
      say('Ready.');
    }
    leaveWhenDone();
  }

  function ask(entry: CallEntry, view: View): void {
    const { call } = entry;
    const request = call.confirmation_request;
    if (!request) return;
    const options = request.options.map(({ name }, index) =>
      line(`  ${index + 1}: ${revealsLine(name)}`),
    );
    const mayAnswer = session.self.roles.includes('approve');
    // A number that the person began to type before they could see the question must not answer it.
    if (mayAnswer) {
      input.dropNumber(() => {
        say(
          '\nThe number was discarded, because you began to type it before the question appeared. Type it again.',
        );
      });
    }
    write([
      ...questionLines(entry, view),
      ...(mayAnswer ? [...options, line(howToAnswer(entry))] : []),
    ]);
  }

  /**
   * Leaves when the input has ended and the sent prompts are done. Does not wait for answers that only a person can
   * give.
   */
  function leaveWhenDone(): void {
    const waits = waitingCalls(store.state).length > 0;
    if (inputEnded && !busy && (awaited === 0 || waits)) done.resolve('left');
  }

  function run(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      store.dispatch({ kind: 'notice', level: 'error', text: reasonOf(error) });
    });
  }

  function take(typed: string): void {
    // Called only to record that the person is present.
    alerts.isReport(typed);
    if (typed.endsWith('\\')) {
      unfinished = `${unfinished}${typed.slice(0, -1)}\n`.slice(0, MAX_LINE);
      return;
    }
    const text = `${unfinished}${typed}`.trim();
    unfinished = '';
    if (text === '') return;
    const [entry] = waitingCalls(store.state);
    if (entry && requestId(entry.call) !== asked) {
      // The question is not on the screen yet, so the text cannot be its answer.
      store.flush();
      if (/^(?:\d+$|\/(?:answer|reject)\s)/.test(text)) {
        say('The question has changed. Read the new one, then type the answer again.');
        return;
      }
    }
    if (entry && answer(entry, text)) return;
    const local = localCommand(text);
    if (local?.name === 'quit') {
      done.resolve('left');
    } else if (local?.name === 'remote' || local?.name === 'clients') {
      run(share(local.name, local.words));
    } else if (text === '/cancel') {
      run(session.cancel());
    } else {
      options.history?.add(text);
      // A text from a script must not run as a command of the person's shell.
      if (text.startsWith('!') && stdin.isTTY) run(shell.run(text.slice(1).trim()));
      else send(promptOf(text), entry);
    }
  }

  /** Returns the prompt for a typed text. Rejects if the text is a command that does not exist. */
  async function promptOf(text: string): Promise<ReturnType<PersonShell['prompt']>> {
    if (!text.startsWith('/')) return shell.prompt(text);
    const commands = await session.commands();
    const problem = unknownCommand(text, [...commands, ...OWN_COMMANDS]);
    if (problem !== undefined) throw new Error(problem);
    // The session would send `//quit` unchanged to the model, because /quit is not a command of the session.
    return unescapedCommand(text, commands);
  }

  function send(content: ReturnType<typeof promptOf>, entry?: CallEntry): void {
    awaited += 1;
    const sending = Promise.all([content, handed]).then(([prompt]) => ({
      sent: session.prompt(prompt),
    }));
    handed = sending.catch(() => undefined);
    run(
      sending
        .then(({ sent }) => sent)
        .then(
          ({ queued }) => {
            if (!queued) return;
            const still = entry ? ` The question is still waiting. ${howToAnswer(entry)}` : '';
            say(`Queued until the turn ends.${still}`);
          },
          (error: unknown) => {
            awaited -= 1;
            throw error;
          },
        ),
    );
  }

  async function share(command: 'remote' | 'clients', words: readonly string[]): Promise<void> {
    store.dispatch(await runSharing(command, words, session, options));
  }

  /** Handles a text while a question waits. Returns false if the text must be handled as a command or a prompt. */
  function answer(entry: CallEntry, text: string): boolean {
    const words = awaitsWords ? text : /^\/(?:answer|reject)\s+([^]+)$/.exec(text)?.[1];
    awaitsWords = false;
    if (words !== undefined) {
      answered = requestId(entry.call);
      run(answers.speak(entry, words));
      return true;
    }
    const options = entry.call.confirmation_request?.options ?? [];
    const option = /^\d+$/.test(text) ? options[Number(text) - 1] : undefined;
    if (option && performance.now() - replacedAt < REPLACED_MS) {
      replacedAt = -Infinity;
      say('The question has changed. Read the new one, then type the number again.');
    } else if (option && isInWords(option)) {
      awaitsWords = true;
      say('Type your answer.');
    } else if (option) {
      answered = requestId(entry.call);
      run(answers.choose(entry, option));
    } else if (!mayBeCommand(text) && hasOption(entry.call, OPTION.words)) {
      // The text may be meant as the answer, and some servers would treat it as the answer.
      say(`Not sent, because a question is waiting. ${howToAnswer(entry)}`);
    } else {
      return false;
    }
    return true;
  }

  const interrupt = (): void => {
    if (shell.stop()) return;
    if (twice.press('leave', 'Ctrl-C again to leave.')) done.resolve('left');
    else if (busy) run(session.cancel());
  };

  process.on('SIGINT', interrupt);
  const input = new LineReader(stdin, {
    line: (text) => take(clean(text)),
    interrupt,
    end() {
      inputEnded = true;
      leaveWhenDone();
    },
  });
  try {
    store.follow(session, abort.signal).then(
      () => done.resolve('ended'),
      (error: unknown) => {
        run(Promise.reject(error));
        done.resolve('ended');
      },
    );
    if (options.remoteAtStart) run(share('remote', []));
    if (options.prompt !== undefined && options.prompt.trim() !== '') {
      send(Promise.resolve(options.prompt));
    }
    return await done.promise;
  } finally {
    process.off('SIGINT', interrupt);
    shell.stop();
    twice.clear();
    input.stop();
    abort.abort();
    store.flush();
    store.close();
  }
}

/** Returns the lines of a request. A question has no title, because the title would repeat its whole text. */
function questionLines(entry: CallEntry, view: View): StyledLine[] {
  const whole = wholeRequest(entry.call, view);
  const [first, ...rest] = whole;
  if (isQuestion(entry) && first) return [[...line('Question: '), ...first], ...rest];
  const title = titleOf(entry.call);
  return [line(`Question: ${title}${title.endsWith('?') ? '' : '?'}`), ...whole];
}

function howToAnswer(entry: CallEntry): string {
  const words = isQuestion(entry) ? '/answer and your answer' : '/reject and a reason';
  return `Type the number of an option, or ${words}.`;
}

interface LineEvents {
  line(text: string): void;
  interrupt(): void;
  end(): void;
}

/** Reads lines, and truncates each line to MAX_LINE characters. */
class LineReader {
  readonly #stream: NodeJS.ReadStream;
  readonly #on: LineEvents;
  readonly #decoder = new TextDecoder();
  #rest = '';
  /** The chunks that arrive while the terminal is in raw mode. The first chunk contains the unfinished line. */
  #raw: string[] | undefined;

  constructor(stream: NodeJS.ReadStream, on: LineEvents) {
    this.#stream = stream;
    this.#on = on;
    stream.on('data', this.#take);
    stream.once('end', this.#end);
  }

  /**
   * If the unfinished line consists only of a number, removes the line and calls `removed`. The terminal delivers an
   * unfinished line only in raw mode, so this mode is on for a moment.
   */
  dropNumber(removed: () => void): void {
    const stream = this.#stream;
    if (!stream.isTTY || isWindows || this.#raw !== undefined) return;
    this.#raw = [];
    stream.setRawMode(true);
    setTimeout(() => {
      stream.setRawMode(false);
      const [first = '', ...others] = this.#raw ?? [];
      this.#raw = undefined;
      const isNumber = /^\d+$/.test(`${this.#rest}${first}`);
      if (isNumber) this.#rest = '';
      const typed = [isNumber ? '' : first, ...others].join('').replaceAll('\r', '\n');
      if (typed.includes(CTRL_C)) this.#on.interrupt();
      if (isNumber) removed();
      this.#split(typed.replaceAll(CTRL_C, ''));
    }, RAW_MS);
  }

  stop(): void {
    if (this.#raw !== undefined) this.#stream.setRawMode(false);
    this.#stream.off('data', this.#take);
    this.#stream.off('end', this.#end);
    this.#stream.pause();
  }

  readonly #take = (chunk: Uint8Array | string): void => {
    const text = typeof chunk === 'string' ? chunk : this.#decoder.decode(chunk, { stream: true });
    if (this.#raw === undefined) this.#split(text);
    else this.#raw.push(text);
  };

  #split(text: string): void {
    const lines = `${this.#rest}${text}`.split(/\r?\n/);
    this.#rest = (lines.pop() ?? '').slice(0, MAX_LINE);
    for (const each of lines) this.#on.line(each.slice(0, MAX_LINE));
  }

  readonly #end = (): void => {
    if (this.#rest !== '') this.#on.line(this.#rest);
    this.#rest = '';
    this.#on.end();
  };
}
