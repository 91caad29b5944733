/** Commands of the game that console completion offers (minecraft.wiki Commands). Plugins may add others. */
export const CONSOLE_COMMANDS: readonly string[] =
  'advancement attribute ban ban-ip banlist bossbar clear clone damage data datapack defaultgamemode deop difficulty effect enchant execute experience fill fillbiome forceload function gamemode gamerule give help item kick kill list locate loot me msg op pardon pardon-ip particle place playsound random recipe reload return ride rotate save-all save-off save-on say schedule scoreboard seed setblock setworldspawn spawnpoint spectate spreadplayers stop stopsound summon tag team teammsg teleport tell tellraw tick time title tp transfer trigger weather whitelist worldborder'.split(
    ' ',
  );
