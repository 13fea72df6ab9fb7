/**
 * The text and the thoughts of a helper, as they are shown in the caller's turn.
 *
 * A helper's text is never sent as text of the answer, because clients would show it as the agent's own answer. While
 * the text is streamed, it is shown as the output of the `task` call. The helper's last answer is also the result of
 * this call. Text that accompanies calls is sent as a thought when it is complete.
 */
import { contentText, isFinalResponse, type Event } from '../../agent/index.ts';
import type { AgentThought, HelperMark } from '../../protocol/development-tool/index.ts';
import { thoughtOf } from './speech.ts';

/** Maximum number of characters of a streamed text that are kept. */
const MAX_TEXT = 16 * 1024;

export class HelperSpeech {
  readonly mark: Required<HelperMark>;
  /** The model that the helper uses. */
  model: string;
  #thought = '';
  #text = '';

  constructor(mark: Required<HelperMark>, model: string) {
    this.mark = mark;
    this.model = model;
  }

  /** Processes an event. Returns the thoughts that are now complete, and the end of the text that is being streamed. */
  hear(event: Event): { readonly thoughts: readonly AgentThought[]; readonly text: string } {
    const { content, partial, metadata } = event;
    if (typeof metadata?.['model'] === 'string') this.model = metadata['model'];
    const thoughts: AgentThought[] = [];
    for (const part of partial === true ? (content?.parts ?? []) : []) {
      if (part.kind === 'thought') this.#thought += part.text;
      else if (part.kind === 'text') {
        thoughts.push(...this.#endThought());
        this.#text += part.text;
        // The text is limited, because all of it is shown again with each piece.
        if (this.#text.length > MAX_TEXT) this.#text = this.#text.slice(-MAX_TEXT / 2);
      }
    }
    const text = this.#text;
    if (partial === true) return { thoughts, text };
    thoughts.push(...this.#endThought());
    const whole = contentText(content);
    if (whole.trim() !== '' && !isFinalResponse(event)) thoughts.push(this.#marked(whole));
    this.#text = '';
    return { thoughts, text };
  }

  #endThought(): AgentThought[] {
    const thought = this.#thought;
    this.#thought = '';
    return thought === '' ? [] : [this.#marked(thought)];
  }

  #marked(text: string): AgentThought {
    return { ...thoughtOf(text), ...this.mark };
  }
}
