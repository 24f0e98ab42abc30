/** What stands around every page: the navigation beside it, or above it where there is little room. */
import type { ComponentChildren } from 'preact';
import type { Fleet } from '../fleet/feed.ts';
import type { Live } from '../live.ts';
import { BASE } from '../routes.ts';
import type { Me } from '../session.ts';
import { TEXTS } from '../texts.ts';
import { BuildBar, ConnectionBar, TransportBar } from './bars.tsx';
import { Confirmation } from './confirm.tsx';
import { KeyboardHelp } from './keyboard-help.tsx';
import { Navigation, NAVIGATION_ID, PaletteButton } from './navigation.tsx';
import { Notices } from './notice.tsx';
import { Palette } from './palette.tsx';

interface ShellProps {
  readonly me: Me;
  readonly live: Live;
  readonly fleet: Fleet;
  readonly children: ComponentChildren;
}

/** The frame of all pages of somebody who is signed in. */
export function Shell({ me, live, fleet, children }: ShellProps) {
  return (
    <div class="shell">
      <a class="skip" href="#content">
        {TEXTS.shell.skip}
      </a>
      <header class="top">
        <button type="button" popovertarget={NAVIGATION_ID}>
          {TEXTS.shell.menu}
        </button>
        <a class="brand" href={BASE}>
          {TEXTS.product}
        </a>
        <PaletteButton />
      </header>
      <Navigation me={me} />
      <div class="content">
        <TransportBar />
        <ConnectionBar />
        <BuildBar />
        <main id="content">{children}</main>
      </div>
      <KeyboardHelp />
      <Palette me={me} live={live} fleet={fleet} />
      <Confirmation />
      <Notices />
    </div>
  );
}
