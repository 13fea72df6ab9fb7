/**
 * The names under which models see the tools of an MCP server. A name has the form `SERVER__TOOL` and contains only
 * the characters that model vendors accept.
 */
import { createHash } from 'node:crypto';

const MAX_NAME_LENGTH = 64;
/** Number of hash characters that make a name unique. */
const HASH_LENGTH = 8;

/**
 * Gives each tool of a server a unique name. The name depends only on the names of the server and its tools, and not on
 * the order of the tools. Characters that are not allowed are replaced. If several tools would then have the same name,
 * the tool without replaced characters keeps this name. The names of the other tools get a hash at the end. If a
 * name is too long, a hash replaces its end. A tool that is listed twice counts once.
 */
export function offeredNames(server: string, tools: readonly string[]): Map<string, string> {
  const wanted = Map.groupBy(new Set(tools), (tool) => plain(`${server}__${tool}`));
  const names = new Map<string, string>();
  for (const [name, group] of wanted) {
    for (const tool of group) {
      const unchanged = name.endsWith(`__${tool}`);
      const keeps = name.length <= MAX_NAME_LENGTH && (group.length === 1 || unchanged);
      names.set(tool, keeps ? name : hashed(name, tool));
    }
  }
  return names;
}

function plain(name: string): string {
  const letters = name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  return /^[A-Za-z_]/.test(letters) ? letters : `_${letters}`;
}

function hashed(name: string, tool: string): string {
  const hash = createHash('sha256').update(tool).digest('hex').slice(0, HASH_LENGTH);
  return `${name.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}
