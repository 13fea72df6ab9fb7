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

  /** Adds an editor and returns its id. In the client's messages, `user.editor` is this id. */
  add(editor: Editor): string {
    const id = randomUUID();
    this.#editors.set(id, editor);
    return id;
  }

  remove(id: string): void {
    this.#editors.delete(id);
  }

  /**
   * Returns the editor that started the turn. Returns undefined if no editor started it, or if the editor is no longer
   * available.
   */
  of(state: Pick<MutableState, 'get'>): Editor | undefined {
    const id = state.get(EDITOR_KEY);
    const editor = typeof id === 'string' ? this.#editors.get(id) : undefined;
    return editor?.available === true ? editor : undefined;
  }
}

/**
 * Returns the change of the session's state at the start of a turn. The change stores the id of this user's editor. If
 * the user has no editor, the change removes the id that an earlier turn stored. `before` is the session's state before
 * the turn.
 */
export function editorState(user: User | undefined, before: State | undefined): State {
  const id = user?.['editor'];
  if (typeof id === 'string') return { [EDITOR_KEY]: id };
  return before?.[EDITOR_KEY] === undefined ? {} : { [EDITOR_KEY]: null };
}
