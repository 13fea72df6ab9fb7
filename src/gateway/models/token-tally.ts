/**
 * Counts the tokens of an answer while it arrives. The count is needed if the provider does not report the usage, for
 * example because the call was stopped before the end of the answer. The count is also stored during the answer, in
 * case the gateway crashes.
 */
import type { Usage } from '../../agent/index.ts';
import { LONGEST_ANSWER } from '../budgets/grant.ts';
import type { SourceChunk } from './chunks.ts';
import type { TokenCounter } from './token-count.ts';

/**
 * Relayed text is collected until it has at least this length, and is then counted. The length is large to save work:
 * most answers end with the provider's own counts, and then the collected text need not be counted. After a call of
 * `countOften`, the length is OFTEN_CHARS.
 */
const COUNTED_CHARS = 64 * 1024;
const OFTEN_CHARS = 1024;
/**
 * The number of hidden tokens that is assumed for each second of a pause. Pauses shorter than QUIET_MS are not counted,
 * because they also occur between the chunks of a slow model.
 */
const HIDDEN_PER_SECOND = 100;
const QUIET_MS = 1000;

export type Estimate = Usage & { readonly estimated: true };

export class TokenTally {
  readonly #counter: TokenCounter;
  #tokens = 0;
  /** Relayed text that is not counted yet. */
  #uncounted = '';
  #countedChars = COUNTED_CHARS;
  #reported: Usage | undefined;
  readonly #now: () => number;
  #since: number;
  #quietMs = 0;

  constructor(counter: TokenCounter, now = () => performance.now()) {
    this.#counter = counter;
    this.#now = now;
    this.#since = now();
  }

  /** Makes `counted` more accurate during the answer: relayed text is counted in smaller pieces. */
  countOften(): void {
    this.#countedChars = OFTEN_CHARS;
  }

  /** Called when the wait for the provider's next chunk begins. */
  expect(): void {
    this.#since = this.#now();
  }

  /**
   * Counts a chunk. Thoughts are counted too, even if the caller does not see them, because the vendor charges for
   * them.
   */
  add(chunk: SourceChunk): void {
    this.#endPause();
    switch (chunk.kind) {
      case 'raw':
        this.#reported = chunk.usage ?? this.#reported;
        this.#uncounted += chunk.text;
        if (this.#uncounted.length >= this.#countedChars) this.#countText();
        break;
      case 'function-call':
        this.#tokens += this.#counter.text(chunk.name + JSON.stringify(chunk.args));
        break;
      case 'text':
      case 'thought':
        this.#tokens += this.#counter.text(chunk.text);
        break;
      default:
      // Files are not counted, and `finish` has no content.
    }
  }

  /** Number of output tokens counted so far. The latest part of a relayed answer may not be included yet. */
  get counted(): number {
    return this.#tokens;
  }

  /**
   * Estimates the usage of an answer for which the provider did not report the complete usage. `prompt` counts the
   * prompt, and is called only if the provider has reported no input tokens. With `hidden`, pauses of the provider are
   * counted as hidden thoughts. If the provider has reported the tokens of its thoughts, pauses are not counted. The
   * estimated output is at most `maxOutputTokens` (default: LONGEST_ANSWER). If the provider has reported more output
   * tokens, the reported number is returned.
   */
  estimate(
    prompt: () => number,
    { hidden = false, maxOutputTokens = LONGEST_ANSWER }: EstimateOptions = {},
  ): Estimate {
    this.#endPause();
    this.#countText();
    const { inputTokens = 0, outputTokens = 0, thoughtTokens, cachedTokens } = this.#reported ?? {};
    // A provider that reports the tokens of its thoughts during the answer hides nothing.
    const pauses = hidden && thoughtTokens === undefined ? this.#quietMs / 1000 : 0;
    const output = Math.min(this.#tokens + pauses * HIDDEN_PER_SECOND, maxOutputTokens);
    return {
      inputTokens: inputTokens > 0 ? inputTokens : prompt(),
      outputTokens: Math.max(outputTokens, Math.round(output)),
      ...(cachedTokens !== undefined && { cachedTokens }),
      estimated: true,
    };
  }

  #endPause(): void {
    const now = this.#now();
    const ms = now - this.#since;
    this.#since = now;
    if (ms >= QUIET_MS) this.#quietMs += ms;
  }

  #countText(): void {
    this.#tokens += this.#counter.raw(this.#uncounted);
    this.#uncounted = '';
  }
}

export interface EstimateOptions {
  readonly hidden?: boolean;
  readonly maxOutputTokens?: number | undefined;
}
