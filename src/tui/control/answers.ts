/**
 * Answers of the person at this terminal. A dialog closes when it is answered here, not when the session says so; where
 * somebody else was first, a line says who and what, and where the answer did not get through, it opens again.
 */
import type { LiveSession } from '../../live/client/index.ts';
import type { ConfirmationOption } from '../../protocol/development-tool/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { CallEntry } from '../state/entry.ts';
import { waitingCalls, type SessionState } from '../state/state.ts';

export interface AnswersOptions {
  readonly editor: ((text: string, fileName: string) => Promise<string | undefined>) | undefined;
  readonly notice: (level: 'info' | 'error', text: string) => void;
  /** Calls whose answers are under way. */
  readonly answering: (callIds: ReadonlySet<string>) => void;
}

/** Writes what the person makes of it, instead of what was shown. */
const MODIFY = 'modify';
const CANCEL = 'cancel';
const MAX_REASON = 4096;
/** The question is to be answered by a message. */
const IN_WORDS = 'answer';

function wantsWords({ call }: CallEntry): boolean {
  return call.confirmation_request?.options.some(({ id }) => id === IN_WORDS) ?? false;
}

export function isInWords(option: ConfirmationOption): boolean {
  return option.id === IN_WORDS;
}

/** The option that Esc stands for. */
export function cancelOption({ call }: CallEntry): ConfirmationOption | undefined {
  return call.confirmation_request?.options.find(({ id }) => id === CANCEL);
}

export class Answers {
  readonly #session: LiveSession;
  readonly #options: AnswersOptions;
  #pending: ReadonlySet<string> = new Set();

  constructor(session: LiveSession, options: AnswersOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Words in the place of a choice: the answer to a question, or why a call is declined. */
  async speak(entry: CallEntry, words: string): Promise<void> {
    const cancel = cancelOption(entry);
    if (wantsWords(entry) || !cancel) await this.#session.prompt(words);
    else await this.choose(entry, cancel, words.slice(0, MAX_REASON));
  }

  async choose({ call }: CallEntry, option: ConfirmationOption, reason?: string): Promise<void> {
    const { tool_call_id, correlationId, confirmation_request: request } = call;
    const diff = request?.file_edit_details;
    let modified: string | undefined;
    if (option.id === MODIFY && diff) {
      modified = await this.#modify(diff.new_content, diff.file_name);
      if (modified === undefined) return;
    }
    this.#set(new Set([...this.#pending, tool_call_id]));
    try {
      await this.#session.confirm({
        tool_call_id,
        selected_option_id: option.id,
        ...(correlationId !== undefined && { correlationId }),
        ...(modified !== undefined && { file_details: { new_content: modified } }),
        ...(reason !== undefined && { reason }),
      });
    } catch (error) {
      this.#forget(tool_call_id);
      const late = lateText(error, request?.options ?? []);
      if (late === undefined) throw error;
      this.#options.notice('info', late);
    }
  }

  /** Forgets the calls that the session no longer asks about. */
  settled(state: SessionState): void {
    if (this.#pending.size === 0) return;
    const waiting = new Set(waitingCalls(state).map(({ call }) => call.tool_call_id));
    const left = [...this.#pending].filter((id) => waiting.has(id));
    if (left.length < this.#pending.size) this.#set(new Set(left));
  }

  async #modify(content: string, fileName: string): Promise<string | undefined> {
    if (!this.#options.editor) {
      this.#options.notice('info', 'There is no editor to change it in; set $EDITOR to have one.');
      return undefined;
    }
    const saved = await this.#options.editor(content, fileName);
    if (saved === undefined) this.#options.notice('info', 'Nothing was saved in the editor.');
    return saved;
  }

  #forget(callId: string): void {
    this.#set(new Set([...this.#pending].filter((id) => id !== callId)));
  }

  #set(pending: ReadonlySet<string>): void {
    this.#pending = pending;
    this.#options.answering(pending);
  }
}

/** What to tell one who was late; undefined when that is not what went wrong. */
function lateText(error: unknown, options: readonly ConfirmationOption[]): string | undefined {
  if (!(error instanceof A2AError) || error.reason !== 'ALREADY_RESOLVED') return undefined;
  const { resolvedBy = 'Somebody else', selectedOptionId } = error.detail.info ?? {};
  if (selectedOptionId === undefined) return error.message;
  const name = options.find(({ id }) => id === selectedOptionId)?.name ?? selectedOptionId;
  return `${resolvedBy} was first: ${name}.`;
}
