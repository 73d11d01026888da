#include <gtest/gtest.h>

#include "policy/options/environment.h"

namespace native_runner {
namespace {

TEST(CarriesSecret, ByAWholeWordOfTheName) {
  for (const char* name : {"KEY",
                           "API_KEY",
                           "APIKEY",
                           "OPENAI_API_KEY",
                           "AWS_ACCESS_KEY_ID",
                           "AWS_SECRET_ACCESS_KEY",
                           "GITHUB_TOKEN",
                           "NPM_TOKENS",
                           "GH_PAT",
                           "DB_PASSWORD",
                           "DB_PASSWORDS",
                           "db_password",
                           "ROOT_PASSWD",
                           "SMTP_PASS",
                           "BORG_PASSPHRASE",
                           "GOOGLE_APPLICATION_CREDENTIALS",
                           "CREDENTIAL",
                           "MY_CREDS",
                           "X_COOKIE",
                           "COOKIES",
                           "COMPOSER_AUTH",
                           "HTTP_AUTHORIZATION",
                           "NODE_AUTHTOKEN",
                           "npm_config__auth",
                           "npm_config_//registry.example/:_authToken",
                           "CI_JOB_JWT",
                           "CI_JOB_JWT_V2",
                           "BEARER",
                           "SECRET_KEY_BASE",
                           "API-KEY",
                           "my.secret.value",
                           "KEY2",
                           "TOKEN_1",
                           "DEPLOY_TOKEN1",
                           "MYSQL_PWD",
                           "mysql_pwd",
                           "_AUTH_",
                           "SENTRY_DSN"}) {
    EXPECT_TRUE(CarriesSecret(name, "x")) << name;
  }
}

TEST(CarriesSecret, ByAListedName) {
  for (const char* name :
       {"SSH_AUTH_SOCK", "SSH_AGENT_PID", "DOCKER_HOST", "KUBECONFIG", "PGPASSWORD", "PGPASSFILE",
        "SSHPASS", "NETRC", "GPG_AGENT_INFO", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS",
        "AZURE_STORAGE_CONNECTION_STRING", "OP_SESSION_team", "kubeconfig"}) {
    EXPECT_TRUE(CarriesSecret(name, "x")) << name;
  }
}

TEST(CarriesSecret, NotByPartOfAWord) {
  for (const char* name :
       {"GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "KEYBOARD",
        "MONKEY",
        "XDG_SESSION_ID",
        "TERM",
        "HOME",
        "PATH",
        "LANG",
        "TOKENIZER",
        "TOKENIZERS_PARALLELISM",
        "COMPASS",
        "PASSENGER",
        "BYPASS_MODE",
        "AUTHOR",
        "SECRETARY",
        "KEYMAP",
        "PWD",
        "OLDPWD",
        "OLD_PWD",
        "_PWD",
        "123",
        "",
        "_",
        "DOCKER_HOSTNAME",
        "COLORTERM",
        "NODE_ENV",
        "npm_lifecycle_event",
        "A_VERY_LONG_NAME_WITH_ONE_WORDTHATISLONGERTHANANYTHINGINTHELISTOFSECRETS"}) {
    EXPECT_FALSE(CarriesSecret(name, "x")) << name;
  }
}

TEST(CarriesSecret, ByAUrlWithAPassword) {
  for (const char* value :
       {"postgres://user:pw@host/db", "redis://:pw@host:6379", "https://me:tok@example.com",
        "jdbc:postgresql://u:p@h/db", "mongodb://u:p@h1,h2/db?x=1", "amqp://u:p@ss@h",
        "http://ok.example http://u:p@h", "git+https://oauth2:tok@h/x.git", "HTTP://U:P@H",
        "url=http://u:p@h", "https://tok:@h"}) {
    EXPECT_TRUE(CarriesSecret("SERVICE_URL", value)) << value;
  }
}

TEST(CarriesSecret, NotByOtherValues) {
  for (const char* value :
       {"", "https://example.com", "https://example.com:8080/a@b", "ssh://git@host/x.git",
        "http://host:80/?mail=a:b@c", "http://host:80#u:p@h", "user:pw@host", "://u:p@h", "a://",
        "://", "file:///a:b@c", "C:/x@y", "12:30 me@example.com", "https://h:1 me@example.com"}) {
    EXPECT_FALSE(CarriesSecret("SERVICE_URL", value)) << value;
  }
}

}  // namespace
}  // namespace native_runner
