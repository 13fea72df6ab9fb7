/**
 * Gets the person's attention when the session needs them or a turn has ended: in the title of the page, for screen
 * readers, and as a notification of the browser if the page is hidden. Browsers allow notifications only in a secure
 * context, which is HTTPS or the same machine.
 */
import { effect, signal } from '@preact/signals';
import { cleanLine, titleOfRequest } from '../../display/index.ts';
import { folderOf, type PageSession } from './page-session.ts';

export const canNotify = isSecureContext && 'Notification' in globalThis;
export const notifications = signal(canNotify ? Notification.permission : 'denied');
/** The text that screen readers announce. */
export const announcement = signal('');

const MAX_BODY = 120;

export async function turnOnNotifications(): Promise<void> {
  notifications.value = await Notification.requestPermission();
}

/** Watches the session. Returns a function that stops watching. */
export function watchAttention(store: PageSession): () => void {
  let asked = '';
  let turn = store.state.value.turn;
  return effect(() => {
    const state = store.state.value;
    const [entry] = store.asking;
    const folder = folderOf(state);
    document.title = entry ? `● Needs you – ${folder}` : `${folder} – Parley`;
    const request = entry ? (entry.call.correlationId ?? entry.call.tool_call_id) : '';
    if (entry && request !== asked) tell('Needs you', titleOfRequest(entry), folder);
    asked = request;
    // Only a turn that was seen running ends here. The state of the snapshot is not news.
    if (turn === 'working' && state.turn === 'completed') tell('Done', '', folder);
    if (turn === 'working' && state.turn === 'failed') tell('Failed', '', folder);
    turn = state.turn;
  });
}

function tell(what: string, about: string, folder: string): void {
  const body = cleanLine(about).slice(0, MAX_BODY);
  announcement.value = body === '' ? what : `${what}: ${body}`;
  if (!document.hidden || notifications.peek() !== 'granted') return;
  try {
    const notification = new Notification(`${what} – ${folder}`, { body, tag: 'parley' });
    notification.addEventListener('click', () => {
      window.focus();
      notification.close();
    });
  } catch {
    // Chrome on Android allows notifications only from a service worker. There, `notify` in the settings helps.
  }
}
