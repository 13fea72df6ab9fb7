/** Starts the page. The session's page is loaded with it; the pages of an agent and a gateway are loaded after it. */
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
