/** The guard of a workspace that asks for everything, for tests of MCP servers in which no call is made. */
import { FileChanges } from '../../src/coder/approval/file-changes.ts';
import type { McpToolsOptions } from '../../src/coder/session/mcp-tools.ts';

export function askingGuard(): McpToolsOptions['guard'] {
  return {
    root: '/home/ann/project',
    mode: 'ask',
    loosest: 'auto-edit',
    rules: [],
    saveRule: () => Promise.resolve(),
    filesOf: () => undefined,
    beforeChange: () => Promise.resolve(),
    realPath: (file) => Promise.resolve(file),
    changes: new FileChanges(),
  };
}
