/**
 * Tells the person when the session needs an answer or a turn has ended: to screen readers, and with a notification of
 * the browser if the page is hidden. While the session needs an answer, the title of the page says so. Browsers allow
 * notifications only in a secure context, which is HTTPS or the same machine.
 */
import { effect, signal } from '@preact/signals';
import { attentionSince, cleanLine, titleOf, type Attention } from '../../../display/index.ts';
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
  let before = store.state.value;
  return effect(() => {
    const state = store.state.value;
    const folder = folderOf(state);
    document.title = store.asking.length > 0 ? `● Needs you – ${folder}` : `${folder} – Parley`;
    for (const attention of attentionSince(before, state)) tell(attention, folder);
    before = state;
  });
}

const WORDS = { 'needs-you': 'Needs you', done: 'Done', failed: 'Failed' } as const;

function tell(attention: Attention, folder: string): void {
  const what = WORDS[attention.kind];
  const about = attention.kind === 'needs-you' ? titleOf(attention.call) : '';
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
    // Chrome on Android allows notifications only from a service worker. On such a device, the person can use the
    // setting `notify` instead.
  }
}
