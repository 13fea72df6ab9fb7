/**
 * The editors of the connected clients.
 *
 * The id of the editor that started the turn is stored in the session's state. So the same editor is used after a
 * question, and by helpers. Ids are random, so a stored id never refers to another editor. If the editor has
 * disconnected, the files on disk and the local shell are used.
 */
import { randomUUID } from 'node:crypto';
import type { MutableState, State } from '../../agent/index.ts';
import type { Editor } from '../../live/client/index.ts';
import type { User } from '../../protocol/index.ts';

/** The key of the editor's id in the session's state. */
const EDITOR_KEY = 'coder.editor';

export class Editors {
  readonly #editors = new Map<string, Editor>();

  /** Adds an editor and returns its id. The client's messages have this id as the `editor` of their user. */
  add(editor: Editor): string {
    const id = randomUUID();
    this.#editors.set(id, editor);
    return id;
  }

  remove(id: string): void {
    this.#editors.delete(id);
  }

  /** Returns the editor that started the turn, or undefined if it is no longer available. */
  of(state: Pick<MutableState, 'get'>): Editor | undefined {
    const id = state.get(EDITOR_KEY);
    const editor = typeof id === 'string' ? this.#editors.get(id) : undefined;
    return editor?.available === true ? editor : undefined;
  }
}

/** Returns the state for a turn that this user starts. `before` is the state of the session. */
export function editorState(user: User | undefined, before: State | undefined): State {
  const id = user?.['editor'];
  if (typeof id === 'string') return { [EDITOR_KEY]: id };
  return before?.[EDITOR_KEY] === undefined ? {} : { [EDITOR_KEY]: null };
}
