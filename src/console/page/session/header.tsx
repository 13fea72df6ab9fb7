/** The header: the workspace, the connection, the model and its usage, and the clients. */
import { cleanLine, contextPart, costText, type Company } from '../../../display/index.ts';
import { canNotify, notifications, turnOnNotifications } from './attention.ts';
import { folderOf, type PageSession } from './page-session.ts';
import { PageButton } from '../parts/controls.tsx';

const CONNECTION = {
  connected: { text: 'Connected', tone: 'good' },
  reconnecting: { text: 'Reconnecting…', tone: 'warning' },
  ended: { text: 'Session ended', tone: 'bad' },
} as const;

const NOTIFICATIONS: Readonly<Record<NotificationPermission, string>> = {
  default: 'Notify me',
  granted: 'Notifications are on',
  denied: 'Notifications are blocked by the browser',
};

export function Header({ store }: { readonly store: PageSession }) {
  const state = store.state.value;
  const { text, tone } = CONNECTION[store.connection.value];
  const context = contextPart(state);
  const about = [
    cleanLine(state.model),
    cleanLine(state.approval),
    context === '' ? '' : `${context} of context`,
    costText(state),
  ];
  return (
    <header class="header">
      <div class="where">
        <h1>{folderOf(state)}</h1>
        <span class={`connection t-${tone}`} role="status">
          <span class="dot" aria-hidden="true" />
          {text}
        </span>
      </div>
      <div class="about-session">
        <span class="dim">{about.filter((each) => each !== '').join(' · ')}</span>
        <Clients clients={state.clients} self={store.session.self} />
      </div>
    </header>
  );
}

function Clients({ clients, self }: Company) {
  const others = clients.filter(({ id }) => id !== self.id);
  return (
    <details class="clients">
      <summary>{others.length === 0 ? 'Only you' : `You and ${others.length} more`}</summary>
      <div class="panel">
        <ul aria-label="Clients of this session">
          {[self, ...others].map((client) => (
            <li key={client.id}>
              <span class="client">
                {cleanLine(client.name)}
                {client.id === self.id ? ' (this page)' : ''}
              </span>
              <span class="dim">
                {client.kind === 'terminal' ? 'terminal' : client.kind.toUpperCase()} ·{' '}
                {client.roles.join(', ')}
              </span>
            </li>
          ))}
        </ul>
        {canNotify ? (
          <PageButton
            disabled={notifications.value !== 'default'}
            onClick={() => void turnOnNotifications()}
          >
            {NOTIFICATIONS[notifications.value]}
          </PageButton>
        ) : null}
      </div>
    </details>
  );
}
