/**
 * Checks that all events of a remote agent belong to one task and one context, and are within the limits. Throws a
 * RemoteAgentError if a check fails.
 */
import type { Part } from '../../protocol/index.ts';
import { RemoteAgentError } from '../connection/errors.ts';
import type { RemoteLimits } from './limits.ts';

/** Maximum length of an id. It is limited, because the ids are stored in our own logs. */
const MAX_ID = 256;

export class RemoteTaskGuard {
  readonly #limits: Required<RemoteLimits>;
  #taskId: string | undefined;
  #contextId: string | undefined;
  #events = 0;
  #length = 0;

  /** If an expected id is undefined, the first id that an event contains is expected in all later events. */
  constructor(
    limits: Required<RemoteLimits>,
    expected: { readonly taskId: string | undefined; readonly contextId: string | undefined },
  ) {
    this.#limits = limits;
    this.#taskId = expected.taskId;
    this.#contextId = expected.contextId;
  }

  get taskId(): string | undefined {
    return this.#taskId;
  }

  get contextId(): string | undefined {
    return this.#contextId;
  }

  event(): void {
    const { maxEvents } = this.#limits;
    if (++this.#events > maxEvents) throw tooMuch(`it sent more than ${maxEvents} events`);
  }

  task(taskId: string | undefined, contextId: string): void {
    if (taskId !== this.#taskId) {
      if (this.#taskId !== undefined) throw invalid('it sent an event of another task');
      if (taskId !== undefined) this.id(taskId);
      this.#taskId = taskId;
    }
    // Some servers omit the context in events of a known task.
    if (contextId === '' || contextId === this.#contextId) return;
    this.id(contextId);
    if (this.#contextId !== undefined) throw invalid('it sent an event of another conversation');
    this.#contextId = contextId;
  }

  id(id: string): void {
    if (id.length > MAX_ID) throw invalid(`it sent an id longer than ${MAX_ID} characters`);
  }

  /** Checks the number of artifacts so far. */
  artifacts(count: number): void {
    const { maxArtifacts } = this.#limits;
    if (count > maxArtifacts) throw tooMuch(`it sent more than ${maxArtifacts} artifacts`);
  }

  /**
   * Checks the parts of one message or chunk. If `isNew` is false, the parts repeat earlier content, so their length is
   * not added to the total.
   */
  parts(parts: readonly Part[], isNew = true): void {
    const { maxParts, maxPartLength } = this.#limits;
    if (parts.length > maxParts) throw tooMuch(`it sent more than ${maxParts} parts at once`);
    let sum = 0;
    for (const part of parts) {
      const length = lengthOf(part);
      if (length > maxPartLength)
        throw tooMuch(`it sent a part longer than ${maxPartLength} characters`);
      sum += length;
    }
    if (isNew) this.content(sum);
  }

  /** Adds the length of further content, and checks the total length. */
  content(length: number): void {
    const { maxContentLength } = this.#limits;
    this.#length += length;
    if (this.#length > maxContentLength) {
      throw tooMuch(`it sent content longer than ${maxContentLength} characters`);
    }
  }
}

function lengthOf(part: Part): number {
  if (part.kind === 'text') return part.text.length;
  if (part.kind === 'file') return (part.file.bytes ?? part.file.uri ?? '').length;
  return JSON.stringify(part.data).length;
}

function tooMuch(message: string): RemoteAgentError {
  return new RemoteAgentError('remote-limit', message);
}

function invalid(message: string): RemoteAgentError {
  return new RemoteAgentError('remote-invalid', message);
}
