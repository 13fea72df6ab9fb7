/** The names under which an MCP server's tools are offered to models: `SERVER__TOOL`, in the letters that vendors take. */
import { createHash } from 'node:crypto';

const MAX_NAME_LENGTH = 64;
/** Enough to tell a server's tools apart. */
const MARK_LENGTH = 8;

/**
 * Gives each of the server's tools a name of its own, which depends on the server's and the tools' names alone and not
 * on their order. Of those that would be called the same, the one that needed no change keeps the name and the others
 * are marked. A tool that is listed twice counts once.
 */
export function offeredNames(server: string, tools: readonly string[]): Map<string, string> {
  const wanted = new Map<string, string[]>();
  for (const tool of new Set(tools)) {
    const name = plain(`${server}__${tool}`);
    const others = wanted.get(name);
    if (others) others.push(tool);
    else wanted.set(name, [tool]);
  }
  const names = new Map<string, string>();
  for (const [name, group] of wanted) {
    for (const tool of group) {
      const unchanged = name.endsWith(`__${tool}`);
      const keeps = name.length <= MAX_NAME_LENGTH && (group.length === 1 || unchanged);
      names.set(tool, keeps ? name : marked(name, tool));
    }
  }
  return names;
}

function plain(name: string): string {
  const letters = name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  return /^[A-Za-z_]/.test(letters) ? letters : `_${letters}`;
}

function marked(name: string, tool: string): string {
  const mark = createHash('sha256').update(tool).digest('hex').slice(0, MARK_LENGTH);
  return `${name.slice(0, MAX_NAME_LENGTH - MARK_LENGTH - 1)}_${mark}`;
}
