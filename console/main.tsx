/** Starts the console in a browser. */
import { render } from 'preact';
import { App } from './app.tsx';
import { startClock } from './clock.ts';
import { startKeys } from './keys.ts';
import { takeOverLinks } from './router.ts';
import { askWhenBack, askWho, tellOfKeys } from './session.ts';
import { startSeen } from './seen.ts';
import { startTheme } from './theme.ts';

startTheme();
startClock();
startSeen();
startKeys();
takeOverLinks();
tellOfKeys();
askWhenBack();
render(<App />, document.getElementById('app') ?? document.body);
await askWho(true);
