/**
 * Sends the answers of the person at this display. The dialog closes immediately, before the session confirms the
 * answer. It opens again if the answer could not be sent. If another client answered first, a notice is shown.
 */
import { cutText } from '../base/index.ts';
import type { LiveSession } from '../live/client/index.ts';
import type {
  ConfirmationOption,
  ToolCallConfirmation,
} from '../protocol/development-tool/index.ts';
import {
  confirmationOf,
  isAlreadyResolved,
  OPTION,
  requestId,
} from '../protocol/schema-free/index.ts';
import type { CallEntry } from './state/entry.ts';
import { waitingCalls, type SessionState } from './state/state.ts';

export interface AnswersOptions {
  readonly editor: ((text: string, fileName: string) => Promise<string | undefined>) | undefined;
  readonly notice: (level: 'info' | 'error', text: string) => void;
  /**
   * Called with the ids of the requests that were answered at this display and whose answers the session has not
   * confirmed yet.
   */
  readonly answering: (requests: ReadonlySet<string>) => void;
}

/**
 * A dialog takes answers only after it was on the screen for this many milliseconds. A person who presses a key or a
 * button earlier may not have seen the dialog yet.
 */
export const OPENING_MS = 400;
export const NO_EDITOR = 'No editor is configured. Set $EDITOR.';

/** Maximum length of `reason` in the schema `ToolCallConfirmation`. */
const MAX_REASON = 4096;

/** Returns whether this option stands for an answer that the person types. */
export function isInWords(option: ConfirmationOption): boolean {
  return option.id === OPTION.words;
}

/** Returns the option that Esc chooses, or undefined if the request does not have it. */
export function cancelOption({ call }: CallEntry): ConfirmationOption | undefined {
  return call.confirmation_request?.options.find(({ id }) => id === OPTION.cancel);
}

export class Answers {
  readonly #session: LiveSession;
  readonly #options: AnswersOptions;
  #pending: ReadonlySet<string> = new Set();

  constructor(session: LiveSession, options: AnswersOptions) {
    this.#session = session;
    this.#options = options;
  }

  /**
   * Sends typed text: as the answer to a question, or as the reason for rejecting a call. If the request allows
   * neither, sends the text as a prompt.
   */
  async speak(entry: CallEntry, words: string): Promise<void> {
    const { options = [] } = entry.call.confirmation_request ?? {};
    const asText = options.find(isInWords);
    const cancel = cancelOption(entry);
    if (asText) await this.choose(entry, asText, { answer: words });
    else if (cancel) await this.choose(entry, cancel, { reason: cutText(words, MAX_REASON) });
    else await this.#session.prompt(words);
  }

  async choose(
    { call }: CallEntry,
    option: ConfirmationOption,
    words: Pick<ToolCallConfirmation, 'reason' | 'answer'> = {},
  ): Promise<void> {
    const { confirmation_request: request } = call;
    const diff = request?.file_edit_details;
    let modified: string | undefined;
    if (option.id === OPTION.modify && diff) {
      modified = await this.#modify(diff.new_content, diff.file_name);
      if (modified === undefined) return;
    }
    const id = requestId(call);
    this.#set(new Set([...this.#pending, id]));
    try {
      const content = modified !== undefined && { file_details: { new_content: modified } };
      await this.#session.confirm(confirmationOf(call, option.id, { ...content, ...words }));
    } catch (error) {
      this.#set(new Set([...this.#pending].filter((each) => each !== id)));
      const late = lateText(error, request?.options ?? []);
      if (late === undefined) throw error;
      this.#options.notice('info', late);
    }
  }

  /** Forgets the requests that no longer wait for an answer in the session. */
  settled(state: SessionState): void {
    if (this.#pending.size === 0) return;
    const waiting = new Set(waitingCalls(state).map(({ call }) => requestId(call)));
    const left = [...this.#pending].filter((id) => waiting.has(id));
    if (left.length < this.#pending.size) this.#set(new Set(left));
  }

  async #modify(content: string, fileName: string): Promise<string | undefined> {
    if (!this.#options.editor) {
      this.#options.notice('info', NO_EDITOR);
      return undefined;
    }
    const saved = await this.#options.editor(content, fileName);
    if (saved === undefined) this.#options.notice('info', 'Nothing was saved in the editor.');
    return saved;
  }

  #set(pending: ReadonlySet<string>): void {
    this.#pending = pending;
    this.#options.answering(pending);
  }
}

/** Returns the notice for an answer that came too late, or undefined for any other error. */
function lateText(error: unknown, options: readonly ConfirmationOption[]): string | undefined {
  if (!isAlreadyResolved(error)) return undefined;
  const { resolvedBy = 'Another client', selectedOptionId } = error.detail.info ?? {};
  if (selectedOptionId === undefined) return error.message;
  const name = options.find(({ id }) => id === selectedOptionId)?.name ?? selectedOptionId;
  return `${resolvedBy} answered first: ${name}.`;
}
