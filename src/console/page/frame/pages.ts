/**
 * The pages. The navigation shows the pages that this server has and that the key may use, except the hidden ones. The
 * code of a page is loaded when the page is opened.
 */
import type { ComponentType } from 'preact';
import type { PageProps, Server } from '../server/server.ts';

export interface PageEntry {
  /** The first segment of the page's address. */
  readonly name: string;
  readonly title: string;
  /** Whether the navigation leaves out the page, so that only links lead to it. */
  readonly hidden?: boolean;
  readonly allowed: (server: Server) => boolean;
  readonly load: () => Promise<ComponentType<PageProps>>;
}

const isAgent = ({ kind }: Server) => kind === 'agent';
const isGateway = ({ kind }: Server) => kind === 'gateway';
/** Returns a function for `allowed`: it allows a page only on a gateway and only for keys with this scope. */
const withScope = (scope: string) => (server: Server) => isGateway(server) && server.may(scope);
const isInspector = ({ kind }: Server) => kind === 'inspector';
const seesTasks = (server: Server) =>
  !isInspector(server) && (server.may('tasks:read') || server.may('agents:use'));

const PAGES: readonly PageEntry[] = [
  {
    name: 'conversation',
    title: 'Conversation',
    allowed: isAgent,
    load: async () => (await import('./conversation.tsx')).ConversationPage,
  },
  {
    name: 'inbox',
    title: 'Inbox',
    allowed: seesTasks,
    load: async () => (await import('../inbox/inbox-page.tsx')).InboxPage,
  },
  {
    name: 'tasks',
    title: 'Task',
    hidden: true,
    allowed: seesTasks,
    load: async () => (await import('../task/task-page.tsx')).TaskPage,
  },
  {
    name: 'inspector',
    title: 'Inspector',
    allowed: (server) => isInspector(server) || seesTasks(server),
    load: async () => (await import('../inspector/inspector-page.tsx')).InspectorPage,
  },
  {
    name: 'usage',
    title: 'Usage',
    allowed: withScope('audit:read'),
    load: async () => (await import('../gateway/usage-page.tsx')).SpendingPage,
  },
  {
    name: 'activity',
    title: 'Activity',
    // Only a key that may read all workspaces gets this page, because the metrics cover all workspaces.
    allowed: (server) => isGateway(server) && server.caller?.allWorkspaces === true,
    load: async () => (await import('../gateway/metrics-page.tsx')).MetricsPage,
  },
  {
    name: 'models',
    title: 'Models',
    allowed: withScope('cards:read'),
    load: async () => (await import('../gateway/cards-page.tsx')).CardsPage,
  },
  {
    name: 'agents',
    title: 'Agents',
    allowed: withScope('agents:use'),
    load: async () => (await import('../gateway/agents-page.tsx')).AgentsPage,
  },
  {
    name: 'keys',
    title: 'Keys',
    allowed: withScope('keys:write'),
    load: async () => (await import('../gateway/keys-page.tsx')).KeysPage,
  },
  {
    name: 'audit',
    title: 'Audit',
    allowed: withScope('audit:read'),
    load: async () => (await import('../gateway/audit-page.tsx')).AuditLogPage,
  },
];

/** Returns the pages that the key may use, including hidden ones, in the order of the navigation. */
export function pagesFor(server: Server): readonly PageEntry[] {
  return PAGES.filter(({ allowed }) => allowed(server));
}
