/** The checkpoints of a workspace for the picker of `/restore`, each with a preview of the changes. */
import type { Coder } from '../../coder/index.ts';
import { clean, EMPTY, line, localTime, span, type StyledText } from '../../display/index.ts';
import type { TuiOptions } from '../../tui/index.ts';
import { word } from '../program/terminal.ts';

const UNCHANGED = 'Restoring changes nothing: the files are the same as at this checkpoint.';

type Workspaces = Pick<Coder['workspaces'], 'openRoots' | 'placeFor'>;

/**
 * Returns functions that list the checkpoints of the folder, and show the changes that restoring one makes. `sessionId`
 * returns the id of the open session. For checkpoints of other sessions, only the files can be restored.
 */
export function checkpointList(
  workspaces: () => Promise<Workspaces>,
  folder: string,
  sessionId: () => string | undefined,
): NonNullable<TuiOptions['checkpoints']> {
  async function checkpoints() {
    const nobody = { user: undefined, tenant: '', contextId: undefined };
    const opened = await workspaces();
    // Opens the workspace's agent. Without this, only the first turn would open the agent.
    await opened.openRoots();
    const found = await opened.placeFor({ workspace_path: folder }, nobody);
    const known = await found?.agent?.checkpoints();
    if (known) return known;
    throw new Error('Checkpoints are not available. The usual cause is that git is not installed.');
  }
  return {
    async list() {
      return (await (await checkpoints()).list()).map(({ id, at, label, extra }) => {
        const filesOnly = extra['session'] === sessionId() ? '' : ' (files only)';
        return { id, title: `before: ${word(label)}${filesOnly}`, when: localTime(at) };
      });
    },
    async changes(id) {
      const [{ files, patch }, { patchLine }] = await Promise.all([
        (await checkpoints()).changes(id),
        import('../../display/text/index.ts'),
      ]);
      if (files.length === 0) return [line(UNCHANGED, 'dim')];
      const counted = files.length === 1 ? 'One file changes:' : `${files.length} files change:`;
      return [
        line(counted),
        ...files.map(({ path, change }) => [span(`  ${word(path)}  `), HAPPENS[change]]),
        EMPTY,
        ...clean(patch)
          .split('\n')
          .filter((each) => !/^(?:diff|index|deleted file|new file) /.test(each))
          .map((each) => patchLine(each)),
      ];
    },
  };
}

const HAPPENS: Readonly<Record<'add' | 'edit' | 'remove', StyledText>> = {
  add: span('comes back', 'added'),
  edit: span('changes', 'warning'),
  remove: span('is removed', 'removed'),
};
