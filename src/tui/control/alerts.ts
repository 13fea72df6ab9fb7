/**
 * Tells the person at the terminal that a call waits or a turn has ended. Uses the bell and a desktop notification of
 * the terminal (OSC 9 or OSC 777).
 *
 * If `alerts.terminal` returns `unfocused`, there are no alerts while the terminal has the focus. Some terminals report
 * when they get and lose the focus (mode 1004). If the terminal has not reported its focus, there are no alerts for
 * PRESENT_MS after the person has typed something.
 */
import { cleanLine, titleOf, type Attention } from '../../display/index.ts';
import type { TuiOptions } from './options.ts';

type AlertOptions = Pick<TuiOptions, 'stdin' | 'stdout' | 'environment' | 'alerts'>;

const REPORTS_ON = '\u001B[?1004h';
const REPORTS_OFF = '\u001B[?1004l';
// oxlint-disable-next-line no-control-regex
const REPORT = /\u001B\[([IO])/g;
const BELL = '\u0007';
/** How long a person counts as present after a key press, if the terminal has not reported its focus. */
const PRESENT_MS = 20_000;
const MAX_CHARS = 120;
const OSC_9 = /^(?:iTerm\.app|WezTerm|ghostty)$/;
const OSC_777 = /^(?:rxvt|foot)/;

export class Alerts {
  readonly #options: AlertOptions;
  /** The focus that the terminal reported last. */
  #focused: boolean | undefined;
  #typedAt = performance.now();
  /** Reports that Ink will pass on as typed text. */
  readonly #reports: string[] = [];

  constructor(options: AlertOptions) {
    this.#options = options;
  }

  /** Asks the terminal to report its focus. */
  start(): void {
    const { alerts, stdin = process.stdin, stdout = process.stdout } = this.#options;
    if (!alerts) return;
    // Ink reads the input with `read`, which also emits `data`. So Ink and this listener both get the input.
    stdin.on('data', this.#see);
    stdout.write(REPORTS_ON);
  }

  stop(): void {
    const { alerts, stdin = process.stdin, stdout = process.stdout } = this.#options;
    if (!alerts) return;
    stdin.off('data', this.#see);
    stdout.write(REPORTS_OFF);
  }

  /**
   * Returns whether this input is a report of the terminal. If not, a person has typed the input and counts as present.
   */
  isReport(input: string): boolean {
    const at = this.#reports.indexOf(input);
    if (at >= 0) this.#reports.splice(at, 1);
    else this.#typedAt = performance.now();
    return at >= 0;
  }

  readonly tell = (attention: Attention): void => {
    const { alerts, stdout = process.stdout, environment = {} } = this.#options;
    if (!alerts) return;
    alerts.told?.(attention);
    const mode = alerts.terminal();
    if (mode === 'off' || !stdout.isTTY || (mode === 'unfocused' && this.#isPresent)) return;
    stdout.write(`${BELL}${notification(textOf(attention), environment)}`);
  };

  get #isPresent(): boolean {
    return this.#focused ?? performance.now() - this.#typedAt < PRESENT_MS;
  }

  readonly #see = (chunk: Uint8Array | string): void => {
    for (const [, sign = ''] of String(chunk).matchAll(REPORT)) {
      this.#focused = sign === 'I';
      this.#reports.push(`[${sign}`);
    }
    this.#reports.splice(0, this.#reports.length - 8);
  };
}

function textOf(attention: Attention): string {
  switch (attention.kind) {
    case 'needs-you':
      return `Parley needs you: ${titleOf(attention.call)}`;
    case 'failed':
      return 'Parley: the turn failed';
    default:
      return 'Parley: done';
  }
}

/**
 * Returns the sequence for a desktop notification. Returns an empty text inside tmux and screen, and for terminals that
 * are known not to support notifications.
 */
function notification(
  text: string,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const { TERM = '', TERM_PROGRAM = '', TMUX, STY, VTE_VERSION } = environment;
  // tmux and screen pass on only the bell.
  if (TMUX || STY || TERM === 'linux' || TERM === 'dumb') return '';
  const plain = cleanLine(text).replaceAll(';', ',').slice(0, MAX_CHARS);
  const usesTitle = OSC_777.test(TERM) || Boolean(VTE_VERSION);
  return usesTitle && !OSC_9.test(TERM_PROGRAM)
    ? `\u001B]777;notify;Parley;${plain}${BELL}`
    : `\u001B]9;${plain}${BELL}`;
}
