import { optionalPackage } from '../../base/index.ts';

/** Loads the MCP client library. Only users of MCP servers have to install it. */
export function mcpLibrary() {
  return optionalPackage(
    '@modelcontextprotocol/client',
    'An MCP server',
    () => import('@modelcontextprotocol/client'),
  );
}
