/**
 * The active span is the span in which the current code runs. Code without a tracer of its own starts its spans as
 * children of the active span. If no span is active, such code starts no spans.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, Span, SpanOptions, Tracer } from './span.ts';

const active = new AsyncLocalStorage<ActiveSpan>();

/** A span that becomes the active one in `run` and `iterate`. */
export class ActiveSpan {
  readonly #tracer: Tracer;
  readonly #span: Span;

  constructor(tracer: Tracer, name: string, options: SpanOptions) {
    this.#tracer = tracer;
    this.#span = tracer.start(name, options);
  }

  /**
   * Returns the `traceparent` header for a request within the span. Returns undefined if the span belongs to no trace.
   * Also returns undefined for `fetch` if another part of the process adds the header (`Span.addsHeader`).
   */
  traceparentFor(transport: 'fetch' | 'http2'): string | undefined {
    const isAdded = transport === 'fetch' && this.#span.addsHeader?.() === true;
    return isAdded ? undefined : this.#span.traceparent;
  }

  child(name: string, options: Omit<SpanOptions, 'parent'>): ActiveSpan {
    return new ActiveSpan(this.#tracer, name, { ...options, parent: this.#span.traceparent });
  }

  set(attributes: Attributes): void {
    this.#span.set(attributes);
  }

  fail(errorType: string): void {
    this.#span.fail(errorType);
  }

  end(): void {
    this.#span.end();
  }

  run<T>(work: () => T): T {
    const span = this.#span;
    return active.run(this, () => (span.run ? span.run(work) : work()));
  }

  /** Opens and reads an iterable within this span. The code that consumes the values stays outside. */
  async *iterate<T>(open: () => AsyncIterable<T>): AsyncGenerator<T> {
    const values = this.run(() => open()[Symbol.asyncIterator]());
    let isOpen = true;
    try {
      for (;;) {
        isOpen = false;
        const next = await this.run(() => values.next());
        if (next.done === true) return;
        isOpen = true;
        yield next.value;
      }
    } finally {
      // As in `for await`, the iterable is closed only if the consumer stops early.
      if (isOpen) await this.run(() => values.return?.());
    }
  }
}

/** A tracer whose spans only pass on the caller's `traceparent`. It exports nothing. */
const PASSING: Tracer = {
  start: (_name, { parent } = {}) => ({ traceparent: parent, set() {}, fail() {}, end() {} }),
};

/**
 * Opens an iterable. The requests that the iterable sends belong to the trace of `traceparent`, even without a tracer.
 * If a span is already active, the requests belong to that span instead.
 */
export function inTrace<T>(
  traceparent: string | undefined,
  open: () => AsyncIterable<T>,
): AsyncIterable<T> {
  if (traceparent === undefined || activeSpan()) return open();
  return new ActiveSpan(PASSING, '', { parent: traceparent }).iterate(open);
}

/**
 * Returns the span in which the caller runs, or undefined if it runs in no span, for example because there is no
 * tracer.
 */
export function activeSpan(): ActiveSpan | undefined {
  return active.getStore();
}
