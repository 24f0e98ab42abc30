/** What stands around every page: where one is, where one may go, who one is. */
import type { ComponentChildren } from 'preact';
import { isHelpOpen } from '../keys.ts';
import { route } from '../router.ts';
import { addressOf, BASE, GROUPS, PAGE_NAMES, placeOf } from '../routes.ts';
import { signOut, type Me } from '../session.ts';
import { TEXTS } from '../texts.ts';
import { choose, theme, THEMES } from '../theme.ts';
import { ConnectionBar, TransportBar } from './bars.tsx';
import { Confirmation } from './confirm.tsx';
import { KeyboardHelp } from './keyboard-help.tsx';
import { Notices, settleNotices } from './notice.tsx';

/** The frame of all pages of somebody who is signed in. */
export function Shell({ me, children }: { readonly me: Me; readonly children: ComponentChildren }) {
  const { page } = route.value;
  return (
    <>
      <a class="skip" href="#content">
        {TEXTS.shell.skip}
      </a>
      <header class="site">
        <a class="brand" href={BASE}>
          {TEXTS.product}
        </a>
        <nav aria-label={TEXTS.shell.navigation}>
          {GROUPS.map((group) => (
            <ul key={group} aria-label={TEXTS.groups[group]}>
              {PAGE_NAMES.filter((name) => placeOf(name).group === group).map((name) => (
                <li key={name}>
                  <a href={addressOf(name)} aria-current={page === name ? 'page' : undefined}>
                    {TEXTS.pages[name]}
                  </a>
                </li>
              ))}
            </ul>
          ))}
        </nav>
        <div class="tools">
          <span class="admin">{me.admin.name}</span>
          <ThemeChoice />
          <button type="button" onClick={() => (isHelpOpen.value = true)}>
            {TEXTS.shell.keys}
          </button>
          {me.principal !== 'anonymous' && (
            <button type="button" onClick={leave}>
              {TEXTS.shell.signOut}
            </button>
          )}
        </div>
      </header>
      <TransportBar />
      <ConnectionBar />
      <main id="content">{children}</main>
      <KeyboardHelp />
      <Confirmation />
      <Notices />
    </>
  );
}

/** What waits is done first: afterwards it could not be. */
function leave(): void {
  settleNotices();
  void signOut();
}

function ThemeChoice() {
  return (
    <label class="theme">
      <span class="unseen">{TEXTS.shell.theme}</span>
      <select
        value={theme.value}
        onChange={({ currentTarget }) => choose(THEMES.find((one) => one === currentTarget.value) ?? 'system')}
      >
        {THEMES.map((one) => (
          <option key={one} value={one}>
            {TEXTS.shell.themes[one]}
          </option>
        ))}
      </select>
    </label>
  );
}
