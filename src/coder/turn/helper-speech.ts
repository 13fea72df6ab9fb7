/**
 * The text and the thoughts of a helper, as its caller's turn shows them.
 *
 * Nothing that a helper says is sent as text of the answer, because clients would take it for the agent's own answer.
 * Its text is the output of the `task` call while it arrives. The helper's last answer is also the result of this call.
 * Text beside calls is sent as a thought when it is complete.
 */
import { contentText, isFinalResponse, type Event } from '../../agent/index.ts';
import type { AgentThought, HelperMark } from '../../protocol/development-tool/index.ts';
import { thoughtOf } from './speech.ts';

/** Maximum number of characters of the text that are kept while it arrives. */
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

  /** Returns the thoughts that an event completes, and the end of the text that the helper is saying. */
  hear(event: Event): { readonly thoughts: readonly AgentThought[]; readonly text: string } {
    const { content, partial, metadata } = event;
    if (typeof metadata?.['model'] === 'string') this.model = metadata['model'];
    const thoughts: AgentThought[] = [];
    for (const part of partial === true ? (content?.parts ?? []) : []) {
      if (part.kind === 'thought') this.#thought += part.text;
      else if (part.kind === 'text') {
        thoughts.push(...this.#endThought());
        this.#text += part.text;
        // The text is shown again with each piece, so a long text would make every piece slower.
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
