/**
 * The names under which models see the tools of an MCP server. A name has the form `SERVER__TOOL` and contains only
 * the characters that model vendors accept.
 */
import { createHash } from 'node:crypto';

const MAX_NAME_LENGTH = 64;
/** Number of hash characters that make a name unique. */
const HASH_LENGTH = 8;

/**
 * Returns the prefix of the names of a server's tools. The first `__` in a name ends the prefix, so tools of servers
 * with different prefixes never have the same name. Two servers have the same prefix if their names differ only in
 * replaced characters.
 */
export function toolPrefix(server: string): string {
  const name = server.replaceAll(/[^A-Za-z0-9-]+/g, '_').replace(/_$/, '');
  return `${/^[A-Za-z_]/.test(name) ? name : `_${name}`}__`;
}

/**
 * Gives each tool of a server a unique name. The name depends only on the names of the server and its tools, and not on
 * the order of the tools. Characters that are not allowed are replaced. If several tools would then have the same name,
 * the tool without replaced characters keeps this name. The names of the other tools get a hash at the end. If a
 * name is too long, a hash replaces its end. A tool that is listed twice counts once.
 */
export function offeredNames(server: string, tools: readonly string[]): Map<string, string> {
  const prefix = toolPrefix(server);
  const wanted = Map.groupBy(
    new Set(tools),
    (tool) => prefix + tool.replaceAll(/[^A-Za-z0-9_-]/g, '_'),
  );
  // If the hash replaces the end of the prefix, it must also depend on the prefix. Otherwise tools of two servers could
  // have the same name.
  const hashedPart = prefix.length < MAX_NAME_LENGTH - HASH_LENGTH ? '' : prefix;
  const names = new Map<string, string>();
  for (const [name, group] of wanted) {
    for (const tool of group) {
      const unchanged = name.endsWith(`__${tool}`);
      const keeps = name.length <= MAX_NAME_LENGTH && (group.length === 1 || unchanged);
      names.set(tool, keeps ? name : hashed(name, hashedPart + tool));
    }
  }
  return names;
}

function hashed(name: string, hashedText: string): string {
  const hash = createHash('sha256').update(hashedText).digest('hex').slice(0, HASH_LENGTH);
  return `${name.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}
