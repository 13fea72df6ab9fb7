/**
 * Starts the page. The page of a live session is loaded together with this file. The pages of other servers are loaded
 * afterwards.
 */
import { render } from 'preact';
import { SERVER_KIND } from './server/access.ts';
import { PageApp, start } from './session/app.tsx';

const root = document.querySelector('#app');
if (root) {
  root.replaceChildren();
  if (SERVER_KIND === 'live') {
    render(<PageApp />, root);
    void start();
  } else {
    const { Frame } = await import('./frame/frame.tsx');
    render(<Frame />, root);
  }
}
